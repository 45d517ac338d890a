"""Taking TensorFlow wheels apart: ELF, GPU code, machine code, metadata. Nothing of a wheel is run or loaded."""
