"""Reports about a fleet as HTML, Markdown, JSON and JUnit XML."""
