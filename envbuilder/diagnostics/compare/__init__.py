"""Compare two machines, images or locks, and state what each difference does to TensorFlow."""
