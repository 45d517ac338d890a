"""Libraries that take the place of NVIDIA's in proofs, where the real ones cannot be fetched."""
