"""Tar archives whose bytes depend on nothing but their content."""
