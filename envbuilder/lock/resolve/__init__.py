"""Resolvers of Python packages (uv) and OS packages (apt)."""
