"""From a plan to an image, without a daemon: every layer is written directly from the files that the lock names."""
