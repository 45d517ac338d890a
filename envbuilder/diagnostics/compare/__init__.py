"""Two machines, images or locks side by side, and what each difference does to TensorFlow."""
