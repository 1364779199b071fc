"""The routes of `/v1` and of the operator.

Read `reports` and `retractions` (devices), `estimates` (analysts), `operator` (the collector
itself).
"""
