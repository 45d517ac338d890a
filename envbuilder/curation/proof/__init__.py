"""Bare environments on this host, and the records of proofs."""
