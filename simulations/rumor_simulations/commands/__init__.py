"""The commands of `rumor` that this room brings."""
