"""Fixtures of the tests of RAPPOR's files."""

from tests.server.rappor_import.rappor_files import written

__all__ = ["written"]
