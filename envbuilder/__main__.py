"""Run the command line by `python -m envbuilder`."""

from envbuilder.cli.main import entry

if __name__ == "__main__":
    entry()
