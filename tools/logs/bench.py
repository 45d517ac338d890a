"""A temporary folder with an environment in it, and what was typed and printed there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from envbuilder.image.base.uv_tool import find_uv
from tests.interpreters.interpreters import interpreters

_LIMIT = 900
"""Seconds for one command."""


@dataclass(kw_only=True)
class Bench:
    """Where a log is made.

    Attributes:
        folder: Everything is in here, also the home of what runs.
        typed: What a reader has to type to see the same, in order.
        printed: What the log gets.
        python: Release of the interpreter, once there is one.
    """

    folder: Path
    typed: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    python: str = ""

    def install(self, version: str, *requirements: str, deps: bool = True, pip: bool = False) -> Path:
        """A fresh environment `venv`; gives its `site-packages`.

        Args:
            version: `3.8`; taken from pyenv.
            requirements: As for `uv pip install`.
            deps: Whether what they need is installed too.
            pip: Whether the environment gets pip itself.
        """
        interpreter = interpreter_of(version)
        self.python = interpreter.parent.parent.name
        seed = ["--seed"] if pip else []
        self._quietly([str(find_uv()), "venv", "-q", *seed, "--python", str(interpreter), str(self.folder / "venv")])
        self.typed.append(f"uv venv --python {self.python}")
        self.add(*requirements, deps=deps)
        return next(self.folder.glob("venv/lib/python*/site-packages"))

    def add(self, *requirements: str, deps: bool = True) -> None:
        """More packages into `venv`; without `deps` over what others ask for, as `pip install -U` does."""
        if requirements:
            options = [] if deps else ["--no-deps"]
            target = ["--python", str(self.folder / "venv/bin/python")]
            self._quietly([str(find_uv()), "pip", "install", "-q", *target, *options, *requirements])
            self.typed.append(shlex.join(["uv", "pip", "install", *options, *requirements]))

    def write(self, name: str, text: str) -> Path:
        """A file of the person whose log it is."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, command: str, *, prompt: bool = False, host_home: bool = False, **environ: str) -> str:
        """Type a command in bash; what it prints goes into the log.

        Args:
            command: One line; `python` is that of `venv`.
            prompt: Whether the line itself is in the log.
            host_home: Whether pip's configuration of this host counts.
            environ: Variables for this command.
        """
        here = {"PATH": f"{self.folder}/venv/bin:{os.environ['PATH']}", "PYTHONUNBUFFERED": "1", "LANG": "C.UTF-8"}
        keep = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "UV_"))}
        home = os.environ["HOME"] if host_home else str(self.folder)
        done = subprocess.run(
            ["bash", "-c", f"{command}\nexit $?"],
            cwd=self.folder, env={**keep, **here, "HOME": home, **environ}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_LIMIT, check=False,
        )  # fmt: skip
        text = done.stdout.decode("utf-8", "replace")
        set_ = [f"{name}={self._short(value)}" for name, value in environ.items()]
        self.typed.append(" ".join([*set_, command]))
        self.printed.append((f"$ {command}\n" if prompt else "") + text)
        return text

    def script(self, name: str, text: str, *, prompt: bool = False, **environ: str) -> str:
        """Write a script and run it with the environment's Python."""
        self.write(name, text)
        return self.run(f"python {name}", prompt=prompt, host_home=False, **environ)

    def compiled(self, name: str, source: str, *options: str) -> Path:
        """A shared library from a few lines of C, in the folder `lib`."""
        library = self.folder / "lib" / name
        library.parent.mkdir(exist_ok=True)
        text = self.write(f"{name}.c", source)
        self._quietly(["cc", "-shared", "-fPIC", *options, "-o", str(library), str(text)])
        return library.parent

    def _short(self, value: str) -> str:
        """A path list as one would type it."""
        relative = value.replace(f"{self.folder}/", "")
        parts = dict.fromkeys(re.sub(r"/nvidia/\w+/lib$", "/nvidia/*/lib", part) for part in relative.split(":"))
        return shlex.quote(":".join(parts))

    def _quietly(self, command: list[str]) -> None:
        subprocess.run(command, check=True, timeout=_LIMIT)


def interpreter_of(version: str) -> Path:
    """The interpreter of pyenv with this `X.Y`."""
    found = [path for path in interpreters() if path.parent.parent.name.startswith(f"{version}.")]
    if not found:
        raise SystemExit(f"no CPython {version} of pyenv here: pyenv install {version}")
    return found[-1]


def emptied(folder: Path) -> Path:
    """The folder, new."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
