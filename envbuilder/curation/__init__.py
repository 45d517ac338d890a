"""Creation and proof of environments of the catalog, for maintainers."""
