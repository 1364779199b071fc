"""The demo: real clients play real shares against a real collector, and the truth is known."""
