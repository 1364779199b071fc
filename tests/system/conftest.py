"""Fixtures of the tests of the whole system."""

from tests.harness.field_devices import collector

__all__ = ["collector"]
