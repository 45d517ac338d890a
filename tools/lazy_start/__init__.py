"""Measure how much of an image is read until a command has ended, when its layers are mounted lazily."""
