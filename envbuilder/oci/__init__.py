"""OCI images as documents and blobs: store, tar, layouts, registries, runtimes."""
