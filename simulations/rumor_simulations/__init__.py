"""Populations that play real clients against a real collector."""
