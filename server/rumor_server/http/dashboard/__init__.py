"""The dashboard: pages that are made here alone, without script, each a permalink with its data.

Read in this order: `routes` (addresses and formats), `view` (what an address asks for), `contents`
(what its page shows; every number is the queries'), `tables` (the same as CSV and JSON), `pages`
(templates), `links` (where a page leads), `words`, `formats` and `privacy_card` (sentences and
numbers as people read them), `page_charts`, `bar_chart`, `trend_chart` (pictures).
"""

from rumor_server.http.dashboard.routes import dashboard_router

__all__ = ["dashboard_router"]
