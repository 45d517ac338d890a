"""See commands as a terminal shows them: text and pictures of every command, on dark and light backgrounds."""
