"""One module a mechanism: its parameters and probabilities."""
