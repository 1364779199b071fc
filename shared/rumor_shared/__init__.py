"""The contract between device and collector, the one thing both sides import."""
