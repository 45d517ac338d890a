"""From text to checked values: YAML with file, line and field of every fault."""
