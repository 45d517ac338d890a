"""CPython from uv, which knows the builds of python-build-standalone and their digests."""

from __future__ import annotations

from pathlib import Path

from envbuilder.core.errors import SourceUnreachable, ToolMissing
from envbuilder.core.versions import Release
from envbuilder.image.base.programs import BaseHost, Ran

_SHOWN_LINES = 6


def from_uv(version: Release, *, uv: Path, folder: Path, host: BaseHost) -> Path:
    """Let uv install a CPython for Linux on x86-64 with glibc; uv checks the digest of what it downloads.

    Args:
        version: Full (`3.8.18`) or not (`3.8`, the newest that this uv knows).
        uv: The program.
        folder: Install directory of uv; kept between calls, so that the second one downloads nothing.
        host: Its whole environment is passed on, and with it uv's own settings for mirrors and certificates.

    Returns:
        The interpreter, to be given to `pack`.

    Raises:
        ToolMissing: uv cannot be started.
        SourceUnreachable: uv does not know this version, or could not download it.
    """
    request = f"cpython-{version}-linux-x86_64-gnu"
    _run(uv, ["install", "--no-bin", "--install-dir", str(folder), request], version, folder, host)
    find = ["find", "--managed-python", "--no-python-downloads", "--no-project", request]
    ran = _run(uv, find, version, folder, host)
    return Path(ran.stdout.strip())


def _run(uv: Path, arguments: list[str], version: Release, folder: Path, host: BaseHost) -> Ran:
    folder.mkdir(parents=True, exist_ok=True)
    environ = dict(host.environ) | {"UV_PYTHON_INSTALL_DIR": str(folder), "NO_COLOR": "1"}
    try:
        ran = host.run([str(uv), "python", *arguments], environ=environ, folder=folder, on_line=host.listener)
    except OSError as error:
        raise ToolMissing(f"cannot start {uv}: {error.strerror}", hint="uv sync") from error
    if ran.status:
        log = "\n".join(f"  {line}" for line in ran.tail[-_SHOWN_LINES:])
        raise SourceUnreachable(
            f"uv cannot get Python {version}\n{log}",
            hint="on a machine that has this Python, run `envbuilder python pack PATH`, and name the archive under "
            "sources.python_archives in the spec",
        )
    return ran
