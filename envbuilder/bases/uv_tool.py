"""The uv program that was installed with this package."""

from __future__ import annotations

from pathlib import Path

from envbuilder.bases.programs import Host
from envbuilder.errors import ToolFailed, ToolMissing


def find_uv() -> Path:
    """Where uv is.

    Raises:
        ToolMissing: The uv package is not installed beside this one.
    """
    import uv  # noqa: PLC0415  only the verbs that lock or build need it

    try:
        return Path(uv.find_uv_bin())
    except FileNotFoundError as error:
        raise ToolMissing(
            "the uv program is missing", hint="install this package again: `pip install envbuilder`"
        ) from error


def uv_version(uv: Path, host: Host) -> str:
    """Version of a uv program, such as `0.13.8`.

    Raises:
        ToolFailed: It does not start.
    """
    ran = host.run([str(uv), "--version"], environ=host.environ, folder=uv.parent)
    words = ran.stdout.split()
    if ran.status or len(words) < 2:
        raise ToolFailed(f"{uv} does not say its version", hint="install this package again")
    return words[1]
