"""Measure TensorFlow wheels: ELF, GPU code, machine code, metadata. Nothing of a wheel is executed."""
