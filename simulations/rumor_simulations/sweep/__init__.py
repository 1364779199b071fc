"""Sweeps: how near estimates come to the truth, over mechanisms, epsilons, devices, values."""
