"""Run commands in an isolated root file system, by runc or kernel namespaces."""
