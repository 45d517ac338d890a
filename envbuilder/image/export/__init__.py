"""Locks as files of other tools: pip, uv, conda, Docker Compose, development containers."""
