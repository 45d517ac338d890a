"""Clusters: files for schedulers, the machines of a cluster judged together, and work on many of them."""
