"""Package indexes: which files a release has, and downloads by hash."""
