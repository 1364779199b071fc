"""The figures of the documentation, drawn from our own mechanisms, ledger and estimators.

`python -m docs_figures docs/pictures` writes them again: `one_report` (what a single report gives
away), `many_reports` (what they say together), `mechanisms` (how exact each one is) and `days`
(what a life of reports costs). `theme` is the question that they ask.
"""
