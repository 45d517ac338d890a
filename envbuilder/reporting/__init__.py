"""From report to text, JSON, JUnit XML."""
