"""The filled collector of the pages' tests, for tests that only read."""

from tests.server.http.dashboard.conftest import running

__all__ = ["running"]
