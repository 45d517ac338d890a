"""Load `matrices/` into a checked catalog."""
