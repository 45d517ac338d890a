"""The uv program that was installed with this package, other releases of it, and CPythons that it downloads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from envbuilder.core.digests import has_digest
from envbuilder.core.errors import SourceUnreachable, ToolFailed, ToolMissing, VerificationFailed
from envbuilder.core.install_commands import install_command
from envbuilder.core.uv import Uv
from envbuilder.core.versions import Release
from envbuilder.image.base.file_store import FileStore
from envbuilder.image.base.programs import BaseHost, Ran
from envbuilder.lock.lock import Lock, ToolName, ToolPin

_SHOWN_LINES = 6


def find_uv() -> Path:
    """Return the path of uv.

    Raises:
        ToolMissing: The uv package is not installed beside this one.
    """
    try:
        import uv  # noqa: PLC0415  only the commands that lock or build need it

        return Path(uv.find_uv_bin())
    except (ImportError, FileNotFoundError) as error:
        raise ToolMissing("the uv program is missing", hint=f"`{install_command('uv', again=True)}`") from error


def uv_version(uv: Path, host: BaseHost) -> str:
    """Return the version of a uv program, such as `0.13.8`.

    Raises:
        ToolFailed: It does not start.
    """
    ran = host.run([str(uv), "--version"], environ=host.environ, folder=uv.parent)
    words = ran.stdout.split()
    if ran.status or len(words) < 2:
        raise ToolFailed(f"{uv} does not print its version", hint=f"`{install_command('uv', again=True)}`")
    return words[1]


def uv_pin(uv: Path, files: FileStore, host: BaseHost) -> ToolPin:
    """Add a uv program to a store, where a build finds it by hash, and return its pin."""
    return ToolPin(name=ToolName.UV, version=uv_version(uv, host), sha256=files.add(uv))


def provide_uv(lock: Lock, files: FileStore, *, uv: Uv, folder: Path, progress: Callable[[str], None]) -> None:
    """Add the uv that a lock was made with to a store; fetch it unless it is there or is the installed one.

    Raises:
        SourceUnreachable: The index does not answer, or has no such version.
        VerificationFailed: The program does not match the lock.
    """
    files.add(uv.program)
    pin = lock.tool(ToolName.UV)
    if pin is not None and files.find(pin.sha256) is None:
        progress(f"fetching {pin.name} {pin.version}, which the lock was made with")
        files.add(fetch_uv(pin, uv=uv, folder=folder))


def fetch_uv(pin: ToolPin, *, uv: Uv, folder: Path) -> Path:
    """Fetch another release of uv from the package index: the program in its wheel, verified before use.

    Raises:
        SourceUnreachable: The index does not answer, or has no such version.
        VerificationFailed: The program does not match the pin.
    """
    command = ["pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--target", str(folder)]
    release = f"{ToolName.UV}=={pin.version}"
    failure = uv.run([*command, release])
    if failure is not None:
        output = "\n".join(failure.splitlines()[-4:])
        raise SourceUnreachable(
            f"uv {pin.version} of the lock is not available:\n{output}", hint="run `envbuilder lock`"
        )
    program = folder / "bin" / ToolName.UV
    if program.is_symlink() or not has_digest(program, f"sha256:{pin.sha256}"):
        raise VerificationFailed(
            f"uv {pin.version} from the index differs from the one in the lock",
            hint="the lock is of another platform, or the index changed; if that is expected, run `envbuilder lock`",
        )
    return program


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
        ran = host.run([str(uv), "python", *arguments], environ=environ, folder=folder)
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
