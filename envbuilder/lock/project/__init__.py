"""Clues in the files of a project about the environment that it needs; nothing of the project is executed."""
