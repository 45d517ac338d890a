"""Build the documentation site from `docs/`, the commands and the catalog: `python -m tools.docs [DIRECTORY]`."""
