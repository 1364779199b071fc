"""The bench: every claim of speed beside its peer or its floor, measured in one run."""
