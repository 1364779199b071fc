"""What frequency oracles share: tallies, hash tables, transforms, and regression on cohorts."""
