"""From expectation and facts to findings: small pure functions in a declared table."""

from envbuilder.checking.expecting import expect
from envbuilder.checking.judging import judge
from envbuilder.checking.table import CHECKS, checks_for

__all__ = ["CHECKS", "checks_for", "expect", "judge"]
