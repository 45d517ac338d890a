"""The interpreter of an image, run in a sandbox: without a container engine or an installation on this machine.

The program is started by the image's own loader, with the image's own libraries; its root is the unpacked image. So
the result does not depend on the Linux distribution of this machine, which must be one for x86-64.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from envbuilder.core.archives.confined_writer import ConfinedWriter
from envbuilder.core.archives.member_names import link_below
from envbuilder.core.cache_directories import remove
from envbuilder.core.errors import ToolFailed, VerificationFailed
from envbuilder.core.files import CHUNK
from envbuilder.core.image_layout import LIBRARIES, PYTHON
from envbuilder.core.tree_manifests import holds, write_manifest
from envbuilder.oci.runtime.outputs import open_to_all
from envbuilder.oci.runtime.root_mounts import resolved
from envbuilder.oci.runtime.sandbox import BUILD_LIMITS, FOREIGN, Limits, Sandbox, Task
from envbuilder.oci.store import Store, full_disk
from envbuilder.oci.tar.members import Kind, Member

_LOADERS = (
    f"{LIBRARIES}/ld-linux-x86-64.so.2",
    "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
    "usr/lib64/ld-linux-x86-64.so.2",
    "lib64/ld-linux-x86-64.so.2",
)
_LIBRARIES = (LIBRARIES, "lib/x86_64-linux-gnu", "usr/lib64", "lib64")
_TIME_LIMIT = 900.0
_TAIL_LINES = 8
_SITES = ("dist-packages", "site-packages")
_AT_START = ("sitecustomize", "usercustomize")
_NOT_STARTED = (126, 127)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPython:
    """An interpreter in an unpacked tree.

    Attributes:
        home: Directory of the interpreter in it: `opt/python` or `usr`.
        series: `3.8`.
        sandbox: Returns the sandbox; called for each run.
    """

    root: Path
    home: str
    series: str
    sandbox: Callable[[], Sandbox]

    def run(  # noqa: PLR0913  each is an option of one run
        self,
        arguments: Iterable[str],
        *,
        given: IO[bytes] | None = None,
        answer: IO[bytes] | None = None,
        mounts: Mapping[str, Path] | None = None,
        environ: Mapping[str, str] | None = None,
        copy_out: str = "",
        limits: Limits = BUILD_LIMITS,
    ) -> bytes | None:
        """Run it in a sandbox that can write only to `/tmp`; nothing of this process's environment is passed on.

        Args:
            arguments: For the interpreter.
            given: File for its standard input; None for nothing.
            answer: File for its standard output; None discards it.
            mounts: Directories of this machine by their path in the sandbox, read-only.
            environ: Further environment variables.
            copy_out: A file below `/tmp` to read after its end; empty for none.
            limits: Limits of its memory, time, processes and output.

        Returns:
            Content of that file; None if it was not written.

        Raises:
            ToolFailed: It cannot be started on this machine, or ended with an error.
            ToolMissing: There is no sandbox.
        """
        # -I would ignore the environment, and with it the seed. Without `site` (-S) other strings
        # are shared when bytecode is written, which Python 3.6 to 3.10 store in it (measured 2026-11-22).
        loader = self._loader()
        program = (self._program(), "-s", "-B", *arguments)
        # Sets are stored in the order of their hashes, and bytecode is written in that order.
        settings = {"PYTHONHOME": f"/{self.home}", "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "PATH": ""}
        task = Task(
            tree=self.root,
            command=(f"/{loader}", "--library-path", self._library_path(), *program),
            env=tuple(sorted({**settings, **(environ or {})}.items())),
            uid=FOREIGN,
            gid=FOREIGN,
            mounts=tuple((str(source), target) for target, source in (mounts or {}).items()),
            timeout=_TIME_LIMIT,
            copy_out=copy_out,
            given=given,
            answer=answer,
            limits=limits,
            hidden=self._hidden(),
        )
        result = self.sandbox().run(task)
        if result.timed_out:
            raise ToolFailed(f"the image's Python {self.series} did not finish within {_TIME_LIMIT:.0f} s")
        if result.status:
            tail = "\n".join(result.stderr.decode("utf-8", "replace").splitlines()[-_TAIL_LINES:])
            hint = "assemble on a Linux for x86-64, or build with an engine: --engine docker"
            raise ToolFailed(
                f"the image's Python {self.series} exited with status {result.status}:\n{tail}",
                hint=hint if result.status in _NOT_STARTED else "",
            )
        return result.copied

    def _program(self) -> str:
        path = f"{self.home}/bin/python{self.series}"
        if not os.path.lexists(self.root / path):
            raise ToolFailed(f"the base has no interpreter /{path}", hint="choose another base: --base ID")
        return f"/{path}"

    def _loader(self) -> str:
        for path in _LOADERS:
            if (self.root / path).exists():
                return path
        raise ToolFailed("the base has no loader for x86-64", hint="choose another base: --base ID")

    def _hidden(self) -> tuple[str, ...]:
        """Return the files whose code `site` would run: .pth files, and modules run at every start."""
        library = f"{self.home}/lib/python{self.series}"
        homes = (library, "usr/lib/python3", f"usr/local/lib/python{self.series}")
        folders = [f"{home}/{name}" for home in homes for name in _SITES]
        names = (*folders, *(f"{library}/{name}.py" for name in _AT_START))
        return tuple(resolved(self.root, f"/{name}") for name in names if (self.root / name).exists())

    def _library_path(self) -> str:
        return ":".join(f"/{path}" for path in (*_LIBRARIES, f"{self.home}/lib"))


def unpacked(members: Iterable[Member], store: Store, key: str) -> Path:
    """Unpack the part of a tree that an interpreter needs into a directory of the store; once for each key.

    A modified directory is never used: it is removed and made again.

    Args:
        members: Base and interpreter, directories before what they hold.
        store: Contains the directory.
        key: Digest of all inputs of the tree.

    Raises:
        BadArchive: A member would be outside, or below a link.
        DiskFull: There is no room.
        VerificationFailed: A file is shorter than its member states.
    """
    name = key.removeprefix("sha256:")
    target = store.folder / "targets" / name
    with store.only_one(f"target-{name}"):
        if not holds(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            for old in (target, *target.parent.glob(f".{name}.*.part")):
                remove(old)
            making = target.with_name(f".{name}.{uuid.uuid4().hex}.part")
            try:
                with full_disk(making):
                    write_tree((member for member in members if is_needed(member.path)), making)
                open_to_all(making)
                making.replace(target)
                write_manifest(target)
            finally:
                remove(making)
    return target


def write_tree(members: Iterable[Member], root: Path) -> None:
    """Write members into a new directory; without devices and pipes, and with modes for all users.

    Args:
        members: Directories before what they hold; a later member replaces an earlier one of the same path.
        root: Must not exist; its parent must.

    Raises:
        BadArchive: A member would be outside, or below a link.
    """
    root.mkdir()
    first: dict[str, str] = {}
    links: set[str] = set()
    with ConfinedWriter(root) as below:
        for member in members:
            # A higher layer may name a directory that is a link here, since /usr is merged.
            if not (member.kind is Kind.FOLDER and member.path in links):
                _write_member(member, below, first)
                links |= {member.path} if member.kind is Kind.SYMLINK else set()


def _write_member(member: Member, below: ConfinedWriter, first: dict[str, str]) -> None:
    match member.kind:
        case Kind.FOLDER:
            below.folder(member.path)
        case Kind.SYMLINK:
            below.symlink(member.path, link_below(member.path, member.target))
        case Kind.FILE if member.identity in first:
            below.hard_link(member.path, first[member.identity])
        case Kind.FILE:
            _copy(member, below)
            if member.identity:
                first[member.identity] = member.path
        case _:
            pass  # No interpreter needs devices or pipes.


def _copy(member: Member, below: ConfinedWriter) -> None:
    mode = 0o755 if member.mode & 0o111 else 0o644
    with member.open() as source, below.file(member.path, mode=mode) as copy:
        left = member.size
        while left:
            piece = source.read(min(left, CHUNK))
            if not piece:
                raise VerificationFailed(
                    f"{member.path} became shorter while it was unpacked", hint="run the command again"
                )
            left -= len(piece)
            copy.write(piece)


def is_needed(path: str) -> bool:
    """Return True if an interpreter may need a path: libraries, itself, and its standard library."""
    top, _, rest = path.partition("/")
    if top in {"lib", "lib64"}:
        return True
    if top == "usr":
        return rest in {"", "lib", "bin", "lib64"} or rest.startswith(
            ("lib/x86_64-linux-gnu", "lib64/", "lib/python3", "bin/python3")
        )
    return path == "opt" or path.startswith(PYTHON)
