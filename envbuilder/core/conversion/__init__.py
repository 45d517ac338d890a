"""Converters between plain values and dataclasses, one for each kind of type hint."""
