"""Resolvers of Python packages and OS packages."""
