"""Squashfs file of an image, which Apptainer, enroot and Charliecloud run as it is.

The file's own digest depends on the version of mksquashfs (4.5.1 and 4.7.5 differ), so that the digest of the image is
recorded inside.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from envbuilder.core.errors import DiskFull, ToolFailed, ToolMissing
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.charliecloud import charliecloud_files
from envbuilder.oci.layout.enroot import start_files
from envbuilder.oci.layout.merge import Tree, merged, read
from envbuilder.oci.layout.singularity_metadata import metadata_files
from envbuilder.oci.runtime.command import RunResult
from envbuilder.oci.runtime.host_tree import host_tree
from envbuilder.oci.runtime.sandbox import FOREIGN, Limits, Sandbox, Task
from envbuilder.oci.store import Store
from envbuilder.oci.tar.headers import END, headers, padding

_TAIL_LINES = 8
_OUT = "/mnt/image.sqsh"
_LIMITS = Limits(processes=4096, output=1 << 20)
"""Limits of mksquashfs, which bounds its memory by itself; the size of images has no upper limit."""
_FULL = ("no space left on device", "disk quota exceeded")


def write_squashfs(  # noqa: PLR0913  independent options
    image: AssembledImage, store: Store, out: Path, *, epoch: int, search_path: str, sandbox: Callable[[], Sandbox]
) -> None:
    """Write an image as a squashfs; the same image gives the same bytes with the same mksquashfs.

    Args:
        image: The image.
        store: Contains its layers.
        out: File to write; it appears only after it is complete.
        epoch: Time stamp of all files in it, in seconds since 1970.
        search_path: Directories to search for mksquashfs, as in PATH.
        sandbox: Returns the sandbox for mksquashfs, which reads untrusted files of packages.

    Raises:
        ToolMissing: There is no mksquashfs, or no sandbox.
        ToolFailed: It failed.
        VerificationFailed: As in `merge.merged`.
        DiskFull: No space is left.
    """
    program = shutil.which("mksquashfs", path=search_path)
    if program is None:
        raise ToolMissing(
            "the mksquashfs program is missing", hint="apt-get install squashfs-tools, or write an OCI layout"
        )
    consumers = (start_files, metadata_files, charliecloud_files)
    tree = merged(image, store, on_top=[each for files in consumers for each in files(image, epoch=epoch)])
    with TemporaryDirectory(dir=out.absolute().parent, prefix=f".{out.name}.") as name:
        # The directory is private, so that making the file writable admits only the user of the sandbox.
        part = Path(name, "part")
        part.touch()
        mode = part.stat().st_mode
        part.chmod(0o666)
        tree_of_host = Path(name, "tree")
        tree_of_host.mkdir()
        task = Task(
            tree=tree_of_host,
            command=_command(program, epoch),
            # mksquashfs refuses SOURCE_DATE_EPOCH together with the options for time stamps:
            # https://github.com/velopack/velopack/issues/739
            env=(("LC_ALL", "C"),),
            uid=FOREIGN,
            gid=FOREIGN,
            mounts=host_tree(tree_of_host, Path(program)),
            shared=((str(part), _OUT),),
            timeout=math.inf,
            limits=_LIMITS,
        )
        _pack(task, tree, sandbox())
        part.chmod(mode)
        part.replace(out)


def _command(program: str, epoch: int) -> tuple[str, ...]:
    return (
        *(program, "-", _OUT, "-tar", "-noappend", "-no-xattrs", "-no-progress", "-quiet"),
        *("-all-time", str(epoch), "-mkfs-time", str(epoch)),
        *("-root-mode", "0755", "-root-uid", "0", "-root-gid", "0"),
        *("-comp", "zstd", "-Xcompression-level", "3"),
    )


def _pack(task: Task, tree: Tree, sandbox: Sandbox) -> None:
    reading, writing = os.pipe()

    def run() -> RunResult:
        with os.fdopen(reading, "rb") as given:  # closed when mksquashfs ends, so that the writer fails
            return sandbox.run(replace(task, given=given))

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run)
        with suppress(BrokenPipeError), os.fdopen(writing, "wb") as stream:  # the result states why
            stream.writelines(flat_tar(tree))
        result = running.result()
    if result.status:
        raise _failure(result.status, result.stderr.decode(errors="replace"))


def _failure(status: int, output: str) -> ToolFailed | DiskFull:
    tail = "\n".join(f"  {line}" for line in output.splitlines()[-_TAIL_LINES:])
    if any(word in output.lower() for word in _FULL):
        return DiskFull(f"no room for the squashfs file; mksquashfs wrote\n{tail}")
    return ToolFailed(
        f"mksquashfs exited with status {status}; it wrote\n{tail}",
        hint="install mksquashfs 4.5 or later with support for zstd",
    )


def flat_tar(tree: Tree) -> Iterator[bytes]:
    """Yield a merged tree as a tar, in pieces; the bytes depend on the tree only.

    Directories come first, then members without content, then files in the order of the layers. Memory use is that of
    the list of paths.
    """
    for member in (*tree.folders, *tree.others):
        yield from headers(member)
    for member in tree.on_top:
        yield from headers(member)
        yield member.read()
        yield padding(member.size)
    for layer, wanted in zip(tree.layers, tree.files, strict=True):
        for tar, (first, *others) in read(layer, wanted):
            yield from headers(first)
            yield from tar.content()
            yield padding(first.size)
            for other in others:
                yield from headers(other, link_to=first.path)
    yield END
