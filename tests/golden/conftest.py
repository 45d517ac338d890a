"""A command line for golden files."""

from tests.unit.cli.conftest import envbuilder

__all__ = ["envbuilder"]
