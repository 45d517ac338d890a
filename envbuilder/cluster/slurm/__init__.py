"""Slurm: constraints and batch scripts of an image."""
