"""Trees of .deb packages: the packages are fetched, verified and unpacked, and the result is kept."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from envbuilder.catalog.buildable import without_archive
from envbuilder.catalog.environments import BaseKind, BaseSystem
from envbuilder.core.errors import SourceUnreachable, UsageError, VerificationFailed
from envbuilder.core.http.origins import without_login
from envbuilder.core.units import size
from envbuilder.image.base.deb.archive import DebArchive
from envbuilder.image.base.deb.distributions import DebDistribution
from envbuilder.image.base.deb.fetching import (
    FailedPackage,
    deb_file,
    fetch_from_mirror,
    fetch_package,
    silent,
)
from envbuilder.image.base.deb.resolver import base_packages, resolve
from envbuilder.image.base.deb.tree import added_tree, base_tree
from envbuilder.image.base.tree_store import DebTree, TreeStore
from envbuilder.image.mirror.file_mirror import NO_MIRROR, FileMirror, lacking_files
from envbuilder.lock.base_choice import OsPackages
from envbuilder.lock.index.fetching import NoAnswer
from envbuilder.lock.lock import BasePin, Lock, OsPackagePin
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import Member, of_tar
from envbuilder.oci.tar.writing import write
from envbuilder.oci.transfers import Listener, Transfer, ignore

_CONNECTIONS = 16


def no_archive(subject: str, distribution: DebDistribution, error: type[SourceUnreachable | UsageError]) -> NoReturn:
    """Raise the error for a host without an archive of a distribution.

    Args:
        subject: Subject and verb of the message: the part that needs the archive.
        distribution: The distribution.
        error: Kind of the error.
    """
    word = distribution.kind.value
    raise error(
        without_archive(subject, distribution.kind),
        hint=f"set one: {distribution.mirror_option}, ENVBUILDER_{word.upper()}_MIRROR, or `sources: {word}_mirror:`",
    )


_MOST_NAMED = 8


@dataclass(frozen=True, kw_only=True)
class DebTrees:
    """Trees of .deb packages, kept in a store.

    Attributes:
        store: Keeps .debs and lists.
        trees: Keeps trees.
        archives: The archives of each distribution; without an address if none is configured.
        work: Directory for what is unpacked.
        progress: Progress callback; receives one line of text.
        listener: Receives the bytes that were fetched so far.
        offline: Refuse to download anything.
        mirror: Asked for .debs that no archive delivers.
    """

    store: Store
    trees: TreeStore
    archives: Mapping[BaseKind, DebArchive]
    work: Path
    progress: Callable[[str], None]
    listener: Listener = ignore
    offline: bool = False
    mirror: FileMirror = NO_MIRROR

    def unpack(self, system: BaseSystem) -> DebTree:
        """Make a tree of the newest packages of a suite, without root, scripts or other programs.

        Raises:
            SourceUnreachable: No archive answers.
            ResolutionFailed: The packages of the base conflict.
        """
        self.progress(f"looking for the packages of {system.id}")
        index = self._reachable(system.kind).index(system.suite, system.components)
        pins = base_packages(index, system.packages)
        made = self._tree(system.kind, system.id, pins, frozenset())
        return self.trees.put(replace(made, suite=system.suite, missing=index.missing))

    def keep(self, kind: BaseKind, tree: DebTree, allowed: frozenset[str]) -> DebTree:
        """Return a tree of the same packages in which some programs keep their set-user-ID and set-group-ID bits."""
        made = replace(self._tree(kind, tree.id, tree.packages, allowed), suite=tree.suite)
        return self.trees.put(replace(made, missing=tree.missing), current=False)

    def provide(self, lock: Lock, fetch: Callable[[], None] = lambda: None) -> DebTree:
        """Return the tree of a lock: from the store, from a bundle, or made again from its packages.

        If the tree is missing here, `fetch` is called first, which may put its tar into the store.

        Raises:
            SourceUnreachable: It is not on this machine, and cannot be made.
            VerificationFailed: The packages result in another tree.
        """
        pin, allowed = lock.base, lock.allowed_privileged
        tree = self.trees.get(pin.id, pin.digest)
        if tree is not None:
            return tree
        if not self.store.has(pin.digest):
            fetch()
        if self.store.has(pin.digest):
            return self._kept(pin)
        if not pin.packages or not all(package.file for package in pin.packages):
            raise SourceUnreachable(
                f"the tree of {pin.id} with digest {pin.digest} is missing here, and the lock does not name its .debs",
                hint="build from a bundle that holds it (--bundle FILE), or lock again: `envbuilder lock`",
            )
        made = self._tree(pin.kind, pin.id, pin.packages, allowed)
        if made.digest != pin.digest:
            made.path.unlink()
            raise VerificationFailed(
                f"the packages of {pin.id} produce a tree with the digest {made.digest}, the lock has {pin.digest}: "
                "the lock was created by another version of envbuilder",
                hint="run `envbuilder lock`",
            )
        return self.trees.put(made, current=not allowed)

    def resolve(self, system: BaseSystem, wanted: Iterable[str], have: Iterable[OsPackagePin]) -> OsPackages:
        """Return the files of further packages on a tree; errors as in `unpack`."""
        index = self._reachable(system.kind).index(system.suite, system.components)
        return OsPackages(pins=resolve(index, wanted, have=have), missing=index.missing)

    def added(self, lock: Lock, base: Iterable[Member]) -> tuple[Member, ...]:
        """Return the files that the OS packages of a lock add to its base, with contents in a tar of the store."""
        if not lock.unpacks_os_packages:
            return ()
        self.fetch(lock.base.kind, lock.os_packages)
        with tempfile.TemporaryDirectory(dir=self._work_directory(), prefix="added-") as work:
            files, allowed = self._files(lock.os_packages), lock.allowed_privileged
            tree = added_tree(files, base, work=Path(work), allowed=allowed)
            self._warn(tree.unconfigured)
            if tree.cleared:
                self.progress(
                    f"without set-user-ID and set-group-ID bits, as `allow:` does not name {_listed(tree.cleared)}"
                )
            written = write(tree.members, Path(work) / "added.tar")
            kept = self.store.take(written.path)
        return of_tar(self.store.path(kept))

    def fetch(self, kind: BaseKind, pins: Sequence[OsPackagePin]) -> None:
        """Fetch .debs into the store, each from the first archive that has it.

        Raises:
            SourceUnreachable: One of them is in none of the archives any more.
            VerificationFailed: An archive has another file in its place.
        """
        for failure in self.fetch_all(kind, pins):
            raise failure.error

    def fetch_all(self, kind: BaseKind, pins: Sequence[OsPackagePin]) -> tuple[FailedPackage, ...]:
        """Fetch .debs into the store, each from the first archive that has it, else from the mirror.

        Returns:
            The failed ones, in order.

        Raises:
            SourceUnreachable: No archive may be used, or none is configured, and the mirror lacks a .deb.
        """
        missing = [pin for pin in pins if pin.sha256 and not self.store.has(f"sha256:{pin.sha256}")]
        if not missing:
            return ()
        try:
            archive = self._reachable(kind)
        except SourceUnreachable as error:
            if lacking_files(self.mirror, [deb_file(pin) for pin in missing], error):
                raise
            failures = [FailedPackage(pin=pin, error=error) for pin in missing]
        else:
            failures = self._from_archives(archive, missing)
        return fetch_from_mirror(self.mirror, failures)

    def _from_archives(self, archive: DebArchive, missing: Sequence[OsPackagePin]) -> list[FailedPackage]:
        """Fetch .debs from archives; where a mirror can replace these, only the first .deb finds out if they answer."""
        title = archive.distribution.title
        total = sum(pin.size for pin in missing)
        self.progress(f"fetching {len(missing)} {title} packages, {size(total)}")
        first = [] if self.mirror is NO_MIRROR else [fetch_package(archive, missing[0], self.store)]
        unanswered = [each.error for each in first if isinstance(each, FailedPackage)]
        if unanswered and isinstance(unanswered[0], NoAnswer):
            return silent(archive, missing, unanswered[0])
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            answers = list(first)
            for answer in pool.map(lambda pin: fetch_package(archive, pin, self.store), missing[len(first) :]):
                answers.append(answer)
                fetched = sum(pin.size for pin in missing[: len(answers)])
                self.listener(Transfer(item=f"{title} packages", current=fetched, total=total))
        for place, mirror in enumerate(archive.mirrors[1:], start=1):
            if place in answers:
                count = answers.count(place)
                self.progress(f"{count} of them from {without_login(mirror)}, as earlier archives lack them")
        return [each for each in answers if isinstance(each, FailedPackage)]

    def _tree(self, kind: BaseKind, base: str, pins: Sequence[OsPackagePin], allowed: frozenset[str]) -> DebTree:
        self.fetch(kind, pins)
        self.progress(f"unpacking {len(pins)} packages of {base}")
        with tempfile.TemporaryDirectory(dir=self._work_directory(), prefix="debs-") as work:
            tree = base_tree(self._files(pins), work=Path(work), allowed=allowed)
            self._warn(tree.unconfigured)
            self.trees.folder.mkdir(parents=True, exist_ok=True)
            target = self.trees.folder / f".{base}-{os.getpid()}.tar"
            written = write(tree.members, target)
        return DebTree(
            id=base,
            path=written.path,
            digest=f"sha256:{written.sha256}",
            size=written.size,
            suite="",
            packages=tuple(pins),
            cleared=tree.cleared,
        )

    def _warn(self, unconfigured: Sequence[str]) -> None:
        if unconfigured:
            count = "1 package" if len(unconfigured) == 1 else f"{len(unconfigured)} packages"
            named = ", ".join(unconfigured[:_MOST_NAMED])
            more = f" and {len(unconfigured) - _MOST_NAMED} more" if len(unconfigured) > _MOST_NAMED else ""
            self.progress(f"unpacked without running the scripts of {count}: {named}{more}")

    def _files(self, pins: Sequence[OsPackagePin]) -> list[tuple[OsPackagePin, Path]]:
        return [(pin, self.store.verified(f"sha256:{pin.sha256}")) for pin in pins]

    def _kept(self, pin: BasePin) -> DebTree:
        path = self.store.verified(pin.digest)
        return DebTree(
            id=pin.id,
            path=path,
            digest=pin.digest,
            size=path.stat().st_size,
            suite="",
            packages=pin.packages,
        )

    def _work_directory(self) -> Path:
        self.work.mkdir(parents=True, exist_ok=True)
        return self.work

    def _reachable(self, kind: BaseKind) -> DebArchive:
        """Return the archives of a distribution, if they may be used.

        Raises:
            SourceUnreachable: Downloads are not allowed, or no archive is configured.
        """
        if self.offline:
            raise SourceUnreachable(
                "packages of the base are not in the cache directory, and downloads are disabled",
                hint="build without --offline, or name a bundle that holds them: --bundle FILE",
            )
        archive = self.archives[kind]
        if not archive.mirrors:
            no_archive(
                f"a base of {archive.distribution.title} packages needs", archive.distribution, SourceUnreachable
            )
        return archive


def _listed(paths: Iterable[str]) -> str:
    return ", ".join(f"/{path}" for path in sorted(paths))
