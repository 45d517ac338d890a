"""Frozen values that the rooms pass to each other. No input or output happens here."""
