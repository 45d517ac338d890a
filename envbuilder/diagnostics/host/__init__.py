"""Findings about a machine and its installed packages: pure functions over facts."""
