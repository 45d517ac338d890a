"""The use cases: short functions over ports; they pick no adapter themselves."""
