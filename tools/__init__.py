"""Tools for maintainers; not installed with the package."""
