"""What keeps a collector well: day closing, counters, logs, and the doctor."""
