"""Recommend environments for given requirements and machines, with reasons."""
