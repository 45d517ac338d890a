"""Parse YAML into checked values, with the file, line and field of every fault."""
