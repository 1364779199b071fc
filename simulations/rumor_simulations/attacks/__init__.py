"""Attacks on people and on results: what an attacker gains, beside what epsilon allows."""
