"""A command line for golden files."""

from tests.unit.conftest import envbuilder

__all__ = ["envbuilder"]
