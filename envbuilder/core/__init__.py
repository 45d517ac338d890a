"""Errors, versions, names, YAML, HTTP, archives and files: what every district builds on."""
