"""As much of a shell as the contract of an engine needs: echo, cat, sleep, exit, true and false, joined by `;`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Session:
    """One command that runs.

    Attributes:
        files: What the container holds; `echo … > PATH` adds to it.
        seconds: How long the command may take; `sleep` uses it up.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    seconds: float = 600.0
    stdout: bytes = b""
    stderr: bytes = b""
    timed_out: bool = False

    def execute(self, command: tuple[str, ...]) -> int:
        """Run a program, or the script of `sh -c`; returns its exit status."""
        if command[0] in {"sh", "/bin/sh"} and command[1:2] == ("-c",):
            return self.script(command[2])
        return self.program(list(command))

    def script(self, text: str) -> int:
        status = 0
        for line in text.split(";"):
            words = shlex.split(line, comments=True)
            if words[:1] == ["exit"]:
                return int(words[1])
            status = self.program(words) if words else status
            if self.timed_out:
                return 137
        return status

    def program(self, words: list[str]) -> int:
        name, arguments = words[0].rpartition("/")[2], words[1:]
        match name:
            case "true" | "false":
                return 0 if name == "true" else 1
            case "echo":
                return self._echo(arguments)
            case "cat":
                return self._cat(arguments[0])
            case "sleep":
                return self._sleep(float(arguments[0]))
            case _:
                self.stderr += f"{name}: not found\n".encode()
                return 127

    def _echo(self, words: list[str]) -> int:
        if words[-1:] == [">&2"]:
            self.stderr += (" ".join(words[:-1]) + "\n").encode()
        elif words[-2:-1] == [">"]:
            self.files[words[-1]] = (" ".join(words[:-2]) + "\n").encode()
        else:
            self.stdout += (" ".join(words) + "\n").encode()
        return 0

    def _cat(self, path: str) -> int:
        if path not in self.files:
            self.stderr += f"cat: can't open '{path}': No such file or directory\n".encode()
            return 1
        self.stdout += self.files[path]
        return 0

    def _sleep(self, seconds: float) -> int:
        self.seconds -= seconds
        self.timed_out = self.seconds < 0
        return 137 if self.timed_out else 0
