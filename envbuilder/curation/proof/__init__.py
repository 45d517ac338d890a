"""Proving rows: bare environments on this host, and the records of what was seen there."""
