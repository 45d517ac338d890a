"""Settings, adapters and targets: the composition root."""
