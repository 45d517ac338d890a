"""Documents about an image: what is in it, and how it was made."""
