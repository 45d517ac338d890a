"""How environments of the catalog are made and proven, for maintainers."""
