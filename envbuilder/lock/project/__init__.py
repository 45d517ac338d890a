"""What the files of a project say about the environment that it needs; nothing of the project is executed."""
