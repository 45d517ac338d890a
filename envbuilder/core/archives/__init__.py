"""Archives and layers from strangers: their names, their limits, and the only way in which they are written to disk."""
