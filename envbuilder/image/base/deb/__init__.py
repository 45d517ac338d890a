"""Debian packages without dpkg: their index, what they need, and what unpacking them gives."""
