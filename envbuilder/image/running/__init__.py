"""Commands in an image without a daemon."""
