"""The uv program: settings, execution, and failures that do not concern packages."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from envbuilder.core.errors import DiskFull, EnvbuilderError, MachineError, SourceUnreachable, ToolFailed
from envbuilder.core.http.credentials import LOGIN_HINT
from envbuilder.core.http.failures import CLOCK, CLOCK_HINT
from envbuilder.core.http.trust import child_environ
from envbuilder.core.uv_process import TIME_LIMIT, run_process

_UNREACHABLE = (
    "error sending request",
    "dns error",
    "Failed to fetch",
    "Could not connect",
    "invalid peer certificate",
    "operation timed out",
    "Request failed after",
)


def settings_files(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return the settings files that uv may read, in order of precedence.

    Those of the current directory and its parents (`uv.toml`, `[tool.uv]` in `pyproject.toml`) are excluded: they come
    from the author of a repository, who may be untrusted, and could add a package index.

    Args:
        environ: `UV_CONFIG_FILE` and the directories of XDG.
        home: Home directory of the user.
    """
    named = environ.get("UV_CONFIG_FILE")
    if named:
        return [Path(named)]
    user = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "uv" / "uv.toml"
    return [user, Path("/etc/uv/uv.toml")]


def uv_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for uv, so that it reads one settings file, of the user or else of the system, or none.

    Source: https://docs.astral.sh/uv/concepts/configuration-files/: a given file replaces all that uv would discover.
    """
    own = {name: value for name, value in child_environ(environ).items() if name != "UV_NO_CONFIG"}
    if environ.get("UV_NO_CONFIG"):
        return {name: value for name, value in own.items() if name != "UV_CONFIG_FILE"} | {"UV_NO_CONFIG": "1"}
    if environ.get("UV_CONFIG_FILE"):
        return own
    files = settings_files(environ, Path(environ.get("HOME") or "/nonexistent"))
    found = next((str(file) for file in files if file.is_file()), "")
    return own | ({"UV_CONFIG_FILE": found} if found else {"UV_NO_CONFIG": "1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Uv:
    """A uv program with its settings.

    Attributes:
        environ: Environment of the process, with proxies, CA bundle and index.
        index: Address of a package index; empty for that of uv's settings.
    """

    program: Path
    cache: Path
    environ: Mapping[str, str]
    index: str = ""
    _pythons: dict[str, Path | None] = field(default_factory=dict, repr=False, compare=False)

    def run(
        self,
        arguments: Sequence[str],
        *,
        timeout: float = TIME_LIMIT,
        silence: float | None = None,
        before: Sequence[str] = (),
    ) -> str | None:
        """Run uv without downloads of interpreters or settings of the current directory.

        Args:
            arguments: Command and options.
            timeout: Seconds.
            silence: As for `run_process`.
            before: Words before the command, which confine the interpreters that uv starts.

        Returns:
            None if it succeeded, else its standard error.

        Raises:
            SourceUnreachable: It timed out or made no progress, or the index requires other credentials.
            DiskFull, MachineError, ToolFailed: It failed because of this machine.
        """
        command = [*before, str(self.program), *arguments]
        status, output = run_process(command, self._environ(), timeout=timeout, silence=silence)
        if status:
            temporary = self.environ.get("TMPDIR") or "/tmp"  # noqa: S108  where uv itself writes
            failure = failure_of(status, output, f"{self.cache} or {temporary}")
            if failure is not None:
                raise failure
        return output.rstrip() if status else None

    def find_python(self, series: str) -> Path | None:
        """Return the interpreter of this host that uv would build with, with links resolved; None if there is none.

        Args:
            series: Preferred major and minor version; another one is acceptable.
        """
        if series not in self._pythons:
            self._pythons[series] = self._find_python(series)
        return self._pythons[series]

    def _find_python(self, series: str) -> Path | None:
        for wanted in ([series], []):
            done = subprocess.run(
                [str(self.program), "python", "find", "--no-project", *wanted],
                env=self._environ(),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIME_LIMIT,
                check=False,
            )
            if done.returncode == 0 and done.stdout.strip():
                return Path(done.stdout.strip()).resolve()
        return None

    def _environ(self) -> dict[str, str]:
        own = {"UV_CACHE_DIR": str(self.cache), "UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"}
        return {**uv_environ(self.environ), **own, **({"UV_DEFAULT_INDEX": self.index} if self.index else {})}


def index_is_silent(output: str) -> bool:
    """Return True if the output of uv states that the index could not be reached."""
    return any(sign in output for sign in _UNREACHABLE)


def read_pylock(text: str) -> dict[str, object]:
    """Return the content of a lock file that uv wrote; its texts and numbers come from the index.

    Raises:
        ToolFailed: It is not TOML, nested too deep, or has a number of excessive length.
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise unknown_form() from error


def unknown_form() -> ToolFailed:
    """Return the error for output of uv in an unknown format."""
    return ToolFailed("the output of uv has an unknown format", hint="install uv 0.13")


_NOT_ALLOWED = "valid authentication credentials"
_CLOCK = re.compile(
    r"invalid peer certificate: "
    r"(?:Expired|NotValidYet|certificate (?:has )?expired|certificate (?:is )?not (?:yet )?valid)"
)
"""Texts of rustls: the variants of `CertificateError`, and their messages since 0.23."""

_SYSTEM = re.compile(r"\(os error (\d{1,5})\)|\bOs \{ code: (\d{1,5})")
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_LIMITS = frozenset({errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EIO, errno.EROFS, errno.EACCES})
_MEMORY = "memory allocation of"
_SIZE_SIGNAL = signal.SIGXFSZ


def failure_of(status: int, output: str, places: str) -> EnvbuilderError | None:
    """Return the reason why uv failed; None if it concerns packages, or the index does not respond.

    Args:
        status: Its exit status, negative for a signal.
        output: Its standard error.
        places: The directories that it writes into, for errors.
    """
    if _NOT_ALLOWED in output:
        return SourceUnreachable(
            "the package index refuses access: user or password is missing or wrong", hint=LOGIN_HINT
        )
    if _CLOCK.search(output):
        return SourceUnreachable(f"the package index cannot be used: {CLOCK}", hint=CLOCK_HINT)
    codes = {int(found[1] or found[2]) for found in _SYSTEM.finditer(output)}
    if codes & _FULL or status == -_SIZE_SIGNAL:
        return DiskFull(f"uv has no room left in {places}\n{output}".rstrip(), hint="free some space, or set TMPDIR")
    if codes & _LIMITS or _MEMORY in output:
        words = ", ".join(os.strerror(code) for code in sorted(codes & _LIMITS)) or os.strerror(errno.ENOMEM)
        return MachineError(
            f"uv cannot run: {words}\n{output}", hint="check `ulimit -a` and the owner of its directories"
        )
    if status < 0:
        return ToolFailed(
            f"uv was terminated by {_signal(-status)}\n{output}".rstrip(),
            hint="SIGKILL often means that the machine ran out of memory: free memory, then run the command again",
        )
    return None


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
