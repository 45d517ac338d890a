"""A command line for each test."""

from tests.unit.conftest import envbuilder

__all__ = ["envbuilder"]
