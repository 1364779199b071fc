"""Populations that simulations draw from: made ones, and real ones out of packages."""
