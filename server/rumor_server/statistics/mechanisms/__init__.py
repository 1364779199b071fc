"""One module a mechanism: payloads to tally, tally to estimates."""
