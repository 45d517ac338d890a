"""Identification of an installed Python, and refusal of those that cannot become an archive."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.errors import UsageError
from envbuilder.core.json_input import load_object
from envbuilder.core.versions import Release
from envbuilder.image.base.programs import BaseHost

# Runs on every Python 3; `base_prefix` is the installation behind a virtual environment.
_QUESTION = """
import json, platform, struct, sys
print(json.dumps({
    "implementation": sys.implementation.name,
    "system": "%s-%d" % (sys.platform, 8 * struct.calcsize("P")),
    "machine": platform.machine(),
    "version": platform.python_version(),
    "flags": sys.abiflags,
    "prefix": sys.base_prefix,
}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackableInterpreter:
    """An installed CPython that can be packed.

    Attributes:
        version: Full version, such as `3.8.18`.
        prefix: Directory that holds its `bin` and `lib`, without symbolic links.
    """

    version: Release
    prefix: Path

    @property
    def series(self) -> str:
        """The version as its directories are named, such as `3.8`."""
        return self.version.series


def identify(program: Path, host: BaseHost) -> PackableInterpreter:
    """Find the installation behind a Python program: itself, a shim, or a virtual environment made from it.

    Raises:
        UsageError: This is no plain release of CPython 3 for Linux on x86-64, or the one that belongs to
            the operating system.
    """
    try:
        ran = host.run([str(program), "-I", "-S", "-c", _QUESTION], environ=host.environ, folder=Path())
    except OSError as error:
        raise UsageError(f"cannot start {program}: {error.strerror}", hint="specify a Python interpreter") from error
    try:
        answers = {str(key): str(value) for key, value in load_object(ran.stdout).items()}
        refusal = _refusal(answers)
    except (ValueError, KeyError) as error:
        last = ran.tail[-1] if ran.tail else f"it exited with status {ran.status}"
        raise UsageError(
            f"{program} is not a working Python 3: {last}", hint="specify a Python 3 interpreter"
        ) from error
    if refusal:
        problem, hint = refusal
        raise UsageError(f"{program} cannot be packed: {problem}", hint=hint)
    return PackableInterpreter(version=Release(answers["version"]), prefix=Path(answers["prefix"]).resolve())


def _refusal(answers: dict[str, str]) -> tuple[str, str] | None:
    """Return the problem and its remedy, or None."""
    prefix, flags, version = answers["prefix"], answers["flags"].replace("m", ""), answers["version"]
    if answers["implementation"] != "cpython":
        return f"it is {answers['implementation']}, and TensorFlow has wheels for CPython only", "name a CPython"
    if (answers["system"], answers["machine"]) != ("linux-64", "x86_64"):
        return (
            f"it is for {answers['system']} on {answers['machine']}, not Linux on x86-64",
            "pack it on such a machine",
        )
    if prefix == "/usr":
        return (
            "it belongs to the operating system, and an OS Python comes from OS packages",
            "leave `python` out of the spec to get the OS Python of a base, or name one from pyenv or uv",
        )
    if flags:
        return f"it is a special build (ABI flags {flags!r}), for which there are no wheels", "name a plain build"
    if not version.replace(".", "").isdigit():
        return f"{version} is a pre-release", "name a release"
    return None
