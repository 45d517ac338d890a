"""Reports as text, Markdown, HTML, JSON and JUnit XML."""
