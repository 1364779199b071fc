"""Commands of the script `rumor`."""
