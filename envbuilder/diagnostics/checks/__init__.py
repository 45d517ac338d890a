"""Checks: pure functions from expectation and facts to outcomes, in a declared table."""
