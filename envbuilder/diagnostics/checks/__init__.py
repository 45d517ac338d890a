"""Checks: pure functions from expectation and facts to outcomes, in a declared table."""

from envbuilder.diagnostics.checks.evaluation import judge
from envbuilder.diagnostics.checks.expectation import expect
from envbuilder.diagnostics.checks.table import CHECKS, checks_for

__all__ = ["CHECKS", "checks_for", "expect", "judge"]
