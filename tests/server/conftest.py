"""Fixtures of the collector's tests."""

from tests.harness.fixtures import postgres, running

__all__ = ["postgres", "running"]
