"""Run the command line in this process, as its entry point would."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from envbuilder.cli.main import entry
from tests.fakes.documents import refuse_other_documents


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended."""

    status: int
    stdout: str
    stderr: str


class CommandLine:
    """A shell in an empty folder, with a cache folder of its own and no settings of this host."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        monkeypatch.chdir(folder)
        monkeypatch.setenv("ENVBUILDER_CACHE", str(folder / "cache"))
        monkeypatch.setenv("COLUMNS", "100")
        # The Pythons and settings of the person who runs the tests are not those of a test.
        monkeypatch.setenv("HOME", str(folder / "home"))
        for name in ("PYENV_ROOT", "UV_PYTHON_INSTALL_DIR", "CONDA_PREFIX", "MAMBA_ROOT_PREFIX", "ASDF_DATA_DIR"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        for name in [name for name in os.environ if name.startswith("ENVBUILDER_") and name != "ENVBUILDER_CACHE"]:
            monkeypatch.delenv(name)
        # Under `python -m pytest` click would call the program by that name.
        monkeypatch.setattr(sys.modules["__main__"], "__package__", "", raising=False)

    def __call__(self, *arguments: str) -> Ended:
        self._monkeypatch.setattr(sys, "argv", ["envbuilder", *arguments])
        with pytest.raises(SystemExit) as stop:
            entry()
        captured = self._capsys.readouterr()
        status = stop.value.code
        assert isinstance(status, int)
        refuse_other_documents(arguments, captured.out)
        return Ended(status=status, stdout=captured.out, stderr=captured.err)

    def messages(self) -> str:
        """Return what was printed on standard error since the last command."""
        return self._capsys.readouterr().err

    def set(self, name: str, value: str) -> None:
        """Set a variable of the environment."""
        self._monkeypatch.setenv(name, value)

    def unset(self, name: str) -> None:
        """Remove a variable from the environment."""
        self._monkeypatch.delenv(name, raising=False)

    def configure(self, text: str) -> Path:
        """Write the configuration file of the user."""
        file = self.folder / "home" / ".config" / "envbuilder" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def write(self, name: str, text: str) -> Path:
        """Write a file into the folder."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path
