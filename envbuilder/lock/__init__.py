"""From spec and environment to lock: Python packages, base, OS packages, interpreter."""
