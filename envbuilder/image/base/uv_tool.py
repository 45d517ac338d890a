"""The uv program that was installed with this package."""

from __future__ import annotations

from pathlib import Path

from envbuilder.core.errors import SourceUnreachable, ToolFailed, ToolMissing, VerificationFailed
from envbuilder.core.install_commands import install_command
from envbuilder.core.uv import Uv
from envbuilder.image.base.file_store import hash_file
from envbuilder.image.base.programs import Host
from envbuilder.lock.lock import ToolName, ToolPin


def find_uv() -> Path:
    """Where uv is.

    Raises:
        ToolMissing: The uv package is not installed beside this one.
    """
    try:
        import uv  # noqa: PLC0415  only the verbs that lock or build need it

        return Path(uv.find_uv_bin())
    except (ImportError, FileNotFoundError) as error:
        raise ToolMissing("the uv program is missing", hint=f"`{install_command('uv', again=True)}`") from error


def uv_version(uv: Path, host: Host) -> str:
    """Version of a uv program, such as `0.13.8`.

    Raises:
        ToolFailed: It does not start.
    """
    ran = host.run([str(uv), "--version"], environ=host.environ, folder=uv.parent)
    words = ran.stdout.split()
    if ran.status or len(words) < 2:
        raise ToolFailed(f"{uv} does not say its version", hint=f"`{install_command('uv', again=True)}`")
    return words[1]


def fetch_uv(pin: ToolPin, *, uv: Uv, folder: Path) -> Path:
    """Get another release of uv from the package index: the program in its wheel, which is compared before any use.

    Args:
        pin: Version and sha256 of the program.
        uv: The uv that fetches it.
        folder: Where it is put.

    Raises:
        SourceUnreachable: The index does not answer, or has no such version.
        VerificationFailed: The program is not the one of the pin.
    """
    command = ["pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--target", str(folder)]
    release = f"{ToolName.UV}=={pin.version}"
    failure = uv.run([*command, release])
    if failure is not None:
        told = "\n".join(failure.splitlines()[-4:])
        raise SourceUnreachable(
            f"uv {pin.version} of the lock cannot be had:\n{told}", hint="lock again: `envbuilder lock`"
        )
    program = folder / "bin" / ToolName.UV
    if program.is_symlink() or not program.is_file() or hash_file(program) != pin.sha256:
        raise VerificationFailed(
            f"uv {pin.version} from the index is not the program of the lock",
            hint="the lock was made on another platform, or the index was changed; lock again if that is right",
        )
    return program
