"""Run commands in assembled images without a daemon."""
