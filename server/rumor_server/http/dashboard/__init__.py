"""The dashboard: pages that are made here alone, without script, each a permalink with its data."""

from rumor_server.http.dashboard.routes import dashboard_router

__all__ = ["dashboard_router"]
