"""What is wrong with a machine, and which environments run on it: pure functions over facts."""
