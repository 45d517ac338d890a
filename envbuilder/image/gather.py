"""Collection of every file that a lock needs in the store, as for a bundle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from envbuilder.core.memory_policy import HOOK
from envbuilder.image.base.debian_trees import DebianTrees
from envbuilder.image.base_contents import BaseContents
from envbuilder.image.bundle import files_of
from envbuilder.image.layers.ports import PackageFiles
from envbuilder.image.lock_files import LockFiles
from envbuilder.lock.lock import Lock, ToolName
from envbuilder.oci.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Gatherer:
    """Fetches the files of locks.

    Attributes:
        store: Receives every file.
        files: Finds interpreter archives and tools.
        packages: Fetches Python packages.
        debian: Fetches OS packages.
        bases: Opens bases.
        progress: Progress callback; receives one line of text.
    """

    store: Store
    files: LockFiles
    packages: PackageFiles
    debian: DebianTrees
    bases: BaseContents
    progress: Callable[[str], None]

    def gather(self, lock: Lock) -> tuple[str, ...]:
        """Fetch the files of a lock that are not in the store; return the digests of all files that a rebuild needs.

        Raises:
            SourceUnreachable: A file is not on this machine and cannot be fetched.
        """
        missing = [pin for pin in lock.packages if not self.store.has(f"sha256:{pin.sha256}")]
        series = ".".join(str(number) for number in lock.python.version.head(2))
        for file in self.packages.locate(missing, series) if missing else ():
            self.progress(f"fetching {file.file}")
            self.packages.fetch(file, lambda _done, _size: None)
        self.debian.fetch([pin for pin in (*lock.base.packages, *lock.os_packages) if pin.sha256 and pin.file])
        if lock.python.sha256:
            self.store.take(self.files.archive(lock))
        for tool in (ToolName.PROBE, HOOK):
            self.files.tool(lock, tool)
        content = self.bases.open(lock)
        content.provide()
        base = [layer.blob.digest for layer in content.layers] or [self.store.take(content.tar())]
        return (*files_of(lock), *base)
