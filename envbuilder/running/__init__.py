"""Commands in an image without a daemon: by runc, or by namespaces of the kernel alone."""
