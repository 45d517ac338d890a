"""Reproducible TensorFlow GPU container images, and the proof that they work."""

__version__ = "0.2.0"
