"""Image registries, asked directly and without a daemon: find a base, fetch its blobs, push an assembled image."""
