"""The code that runs inside images, started by every Python of this machine."""
