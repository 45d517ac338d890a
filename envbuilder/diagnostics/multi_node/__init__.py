"""Several workers of one image: run them on this host or collect their facts, and distinguish faults."""
