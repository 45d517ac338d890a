"""The `assemble` engine: write each layer directly from the files of the lock, without a daemon."""
