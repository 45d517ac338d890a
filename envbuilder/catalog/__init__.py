"""Environments, CUDA data, evidence, and the judge of compatibility."""
