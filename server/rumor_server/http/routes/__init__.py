"""The routes of `/v1` and of the operator.

Read `reports` and `retractions` (devices), `spans`, `estimates`, `periods` and `inference`
(analysts), `operator` (the collector itself).
"""
