"""Bill of materials, provenance and signatures of an image."""
