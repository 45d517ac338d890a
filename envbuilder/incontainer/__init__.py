"""What runs inside the image: probe.py, standard library only."""
