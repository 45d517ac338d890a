"""Files of locks in a registry, for the time when their sources no longer have them."""
