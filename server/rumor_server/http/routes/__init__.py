"""The routes of `/v1` and of the operator.

Read `reports` and `retractions` (devices), `estimates` and `periods` (analysts), `operator` (the
collector itself).
"""
