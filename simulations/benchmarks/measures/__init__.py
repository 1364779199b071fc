"""One module a subject, each with `measure() -> list[Row]`; the bench finds them by itself."""
