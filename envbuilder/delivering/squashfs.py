"""An image as one squashfs file, which Apptainer and enroot run as it is.

The file's own digest depends on the version of mksquashfs (4.5.1 and 4.7.5 differ), so the digest of the image stands
inside.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from envbuilder.delivering.enroot import start_files
from envbuilder.delivering.flatten import flat_tar
from envbuilder.delivering.merging import Tree, merged
from envbuilder.errors import DiskFull, ToolFailed, ToolMissing
from envbuilder.model.images import AssembledImage
from envbuilder.store import Store

_TAIL_LINES = 8
_FULL = ("no space left on device", "disk quota exceeded")


def write_squashfs(image: AssembledImage, store: Store, out: Path, *, epoch: int, search_path: str) -> None:
    """Write an image as a squashfs; the same image gives the same bytes with the same mksquashfs.

    Args:
        image: What to write.
        store: Has its layers.
        out: File to write; it appears only when it is complete.
        epoch: Time of everything in it, in seconds since 1970.
        search_path: Folders to find mksquashfs in, as in PATH.

    Raises:
        ToolMissing: There is no mksquashfs.
        ToolFailed: It ended with an error.
        VerificationFailed: As in `merging.merged`.
        DiskFull: There is no room.
    """
    program = shutil.which("mksquashfs", path=search_path)
    if program is None:
        raise ToolMissing("there is no mksquashfs", hint="apt-get install squashfs-tools, or deliver an OCI layout")
    tree = merged(image, store, on_top=start_files(image, epoch=epoch))
    part = out.with_name(f".{out.name}.{uuid.uuid4().hex}.part")
    try:
        _pack(_command(program, part, epoch), tree)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def _command(program: str, out: Path, epoch: int) -> tuple[str, ...]:
    return (
        *(program, "-", str(out.absolute()), "-tar", "-noappend", "-no-xattrs", "-no-progress", "-quiet"),
        *("-all-time", str(epoch), "-mkfs-time", str(epoch)),
        *("-root-mode", "0755", "-root-uid", "0", "-root-gid", "0"),
        *("-comp", "zstd", "-Xcompression-level", "3"),
    )


def _pack(command: tuple[str, ...], tree: Tree) -> None:
    with tempfile.TemporaryFile() as said, _started(command, said) as process:
        assert process.stdin is not None  # noqa: S101  for the type checker
        with suppress(BrokenPipeError):  # then it has said why
            process.stdin.writelines(flat_tar(tree))
            process.stdin.close()
        if process.wait():
            said.seek(0)
            raise _failure(process.returncode, said.read().decode(errors="replace"))


@contextmanager
def _started(command: tuple[str, ...], said: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    # Its time stamps come from the command; SOURCE_DATE_EPOCH beside them would be an error.
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said, stderr=said, env={"LC_ALL": "C"})
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdin is not None:
            _close(process.stdin)


def _close(stream: IO[bytes]) -> None:
    with suppress(BrokenPipeError):
        stream.close()


def _failure(status: int, said: str) -> ToolFailed | DiskFull:
    tail = "\n".join(f"  {line}" for line in said.splitlines()[-_TAIL_LINES:])
    if any(word in said.lower() for word in _FULL):
        return DiskFull(f"no room for the squashfs file; mksquashfs wrote\n{tail}")
    return ToolFailed(
        f"mksquashfs ended with status {status}; it wrote\n{tail}", hint="it must be 4.5 or newer, and know zstd"
    )
