"""From spec and row to lock: Python packages, bases, OS packages, interpreters."""
