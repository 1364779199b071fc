"""Commands of the collector: each module has `main(argv) -> int`."""
