"""Files that a lock pins by hash beside its packages: tools, interpreter archives, own files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from envbuilder import __version__
from envbuilder.core.errors import SourceUnreachable
from envbuilder.image.base.file_store import FileStore
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.lock import Lock, OwnFile, PythonPin, ToolPin
from envbuilder.oci.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedFiles:
    """Files on this machine that locks pin beside packages.

    Attributes:
        store: Contains the probe, the memory hook and own files.
        files: Contains interpreter archives and programs.
        own_tools: Content of envbuilder's own tools, by name.
        fetch: Called with a lock whose interpreter archive is missing; may add an archive, which is found if its hash
            is that in the lock.
    """

    store: Store
    files: FileStore
    own_tools: Mapping[str, bytes]
    fetch: Callable[[Lock], None] = lambda _lock: None

    def own_pins(self) -> tuple[ToolPin, ...]:
        """Add the tools of this version to the store, and return their pins, sorted by name."""
        return tuple(
            ToolPin(name=name, version=__version__, sha256=self.store.put(content).removeprefix("sha256:"))
            for name, content in sorted(self.own_tools.items())
        )

    def find(self, sha256: str) -> Path | None:
        """Return the file with this hash; None if it is not on this machine."""
        self.own_pins()
        digest = f"sha256:{sha256}"
        return self.files.find(sha256) or (self.store.verified(digest) if self.store.has(digest) else None)

    def missing(self, lock: Lock) -> tuple[IndexFile, ...]:
        """Return the files that no index or archive has and this machine lacks: interpreter, own tools, own files."""
        tools = (lock.tool(name) for name in self.own_tools)
        wanted = (
            *([IndexFile(file=lock.python.file, sha256=lock.python.sha256, url="")] if lock.python.sha256 else []),
            *(IndexFile(file=tool.name, sha256=tool.sha256, url="") for tool in tools if tool),
            *(IndexFile(file=file.path, sha256=file.sha256, url="", size=file.size) for file in lock.files),
        )
        return tuple(file for file in wanted if self.find(file.sha256) is None)

    def archive(self, lock: Lock) -> Path:
        """Return the interpreter archive of a lock.

        Raises:
            SourceUnreachable: It is not on this machine, and was not fetched.
        """
        found = self._archive(lock.python)
        if found is None:
            self.fetch(lock)
            found = self._archive(lock.python)
        if found is None:
            raise SourceUnreachable(
                f"{lock.python.file} with sha256 {lock.python.sha256} is not on this machine",
                hint="name it with --python-archive FILE, or lock again: `envbuilder lock`",
            )
        return found

    def _archive(self, pin: PythonPin) -> Path | None:
        kept = f"sha256:{pin.sha256}"
        return self.store.verified(kept) if self.store.has(kept) else self.find(pin.sha256)

    def tool(self, lock: Lock, name: str) -> bytes:
        """Return a tool of a lock, which may be that of another version; empty if the lock names none.

        Raises:
            SourceUnreachable: It is not on this machine.
        """
        self.own_pins()
        pin = lock.tool(name)
        if pin is None:
            return b""
        digest = f"sha256:{pin.sha256}"
        if not self.store.has(digest):
            raise SourceUnreachable(
                f"the {name} of envbuilder {pin.version} that the lock names is not on this machine",
                hint="build from a bundle that holds it (--bundle FILE), or lock again: `envbuilder lock`",
            )
        return self.store.read(digest)


def keep_own_files(files: Iterable[OwnFile], store: Store) -> None:
    """Copy the user's own files into the store, where a build finds them by hash.

    Raises:
        VerificationFailed: One of them changed while it was read.
    """
    for file in files:
        digest = f"sha256:{file.sha256}"
        if not store.has(digest):
            store.take(Path(file.source), digest)
