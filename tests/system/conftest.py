"""Fixtures of the tests of whole processes."""

from tests.harness.fixtures import postgres, running

__all__ = ["postgres", "running"]
