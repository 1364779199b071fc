"""The pictures of the documentation, drawn from our own mechanisms, ledger and estimators.

`python -m docs_figures docs/pictures` writes them anew: `one_report` (what a single
report gives away), `many_reports` (what they tell together), `mechanisms` (how exact each one is)
and `days` (what a life of reports costs).
"""
