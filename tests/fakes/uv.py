"""A `uv` on disk: it remembers how it was called, and answers as it was told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.scripts import python_script

_PROGRAM = """
import json, os, pathlib, sys
folder = pathlib.Path({folder!r})
arguments = sys.argv[1:]
files = {{}}
for name in ("requirements.in", "constraints.txt", "overrides.txt", "pylock.toml"):
    path = pathlib.Path(arguments[2]).parent / name
    files[name] = path.read_text("utf-8") if path.is_file() else None
(folder / "call.json").write_text(json.dumps(dict(arguments=arguments, environ=dict(os.environ), files=files)))
sys.stderr.write((folder / "stderr").read_text("utf-8"))
status = int((folder / "status").read_text())
if not status:
    output = pathlib.Path(arguments[arguments.index("--output-file") + 1])
    output.write_text((folder / "pylock.toml").read_text("utf-8"), "utf-8")
sys.exit(status)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of uv.

    Attributes:
        arguments: Without the program.
        environ: Environment of the process.
        files: Its input files by name; None for one that was not there.
    """

    arguments: tuple[str, ...]
    environ: dict[str, str]
    files: dict[str, str | None]

    def option(self, name: str) -> list[str]:
        """Every value that was given for an option."""
        return [value for given, value in zip(self.arguments, self.arguments[1:], strict=False) if given == name]


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeUv:
    """The program, and what it was asked.

    Attributes:
        path: The program.
    """

    path: Path

    @property
    def call(self) -> Call:
        """Its last call."""
        known = json.loads((self.path.parent / "call.json").read_text("utf-8"))
        return Call(arguments=tuple(known["arguments"]), environ=known["environ"], files=known["files"])


def fake_uv(folder: Path, *, pylock: str = 'lock-version = "1.0"\n', status: int = 0, stderr: str = "") -> FakeUv:
    """Put a uv into a folder that answers with this lock, or fails with this text."""
    answers = {"pylock.toml": pylock, "status": str(status), "stderr": stderr}
    for name, text in answers.items():
        (folder / name).write_text(text, encoding="utf-8")
    program = folder / "uv"
    program.write_text(python_script(_PROGRAM.format(folder=str(folder)), "-IS"), encoding="utf-8")
    program.chmod(0o755)
    return FakeUv(path=program)
