"""The package index: which files a release has, which are still there, and one of them by hash."""
