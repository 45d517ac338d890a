"""The inputs of layers, opened when the first layer needs them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from envbuilder.catalog.environments import PythonProvider
from envbuilder.core.errors import SourceUnreachable, UsageError, VerificationFailed
from envbuilder.core.image_layout import PYTHON, VENV
from envbuilder.image.layers.admission import require_pinned
from envbuilder.image.layers.build_stage import BuildStage, build_in_stage, require_build_tools, unpack_stage
from envbuilder.image.layers.entries import Entry
from envbuilder.image.layers.image_python import TargetPython, unpacked
from envbuilder.image.layers.interpreter import archive_entries, venv_entries
from envbuilder.image.layers.sdists import build_wheel
from envbuilder.image.layers.wheel_file import Wheel, open_wheel
from envbuilder.image.layers.wheels import Prefix
from envbuilder.image.layers.zlib_library import Deflate, original
from envbuilder.image.vendor.libraries import VendorArchives
from envbuilder.lock.lock import Lock, OwnFile, PackageGroup, PackagePin
from envbuilder.oci.images import ImageLayerPin
from envbuilder.oci.runtime.sandbox import Sandbox
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import EPOCH, Kind, Member, opened_at

_LARGEST_BASE_FILE = 4 << 20


class BaseContent(Protocol):
    """The files of a base, with the OS packages on it: of a Debian tree, or of a registry image."""

    def provide(self) -> Path | None:
        """Fetch the base, which other methods do where it was not done.

        Returns:
            A tree as a tar, which has to be packed; None for a registry image, whose layers are in the store then.
        """
        ...

    def added(self) -> Iterable[Member]:
        """Return the files of the OS packages, directories before their content."""
        ...

    def members(self) -> Iterable[Member]:
        """Return all members, merged, directories before their content."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The base of an image.

    Attributes:
        content: Its files; nothing is fetched before they are used.
        layers: Layers of a registry image; empty for a tree, which has to be packed.
        config: Configuration of a registry image; empty for a tree.
    """

    content: BaseContent
    layers: tuple[ImageLayerPin, ...] = ()
    config: Mapping[str, object] = field(default_factory=dict)


@dataclass(kw_only=True)
class Ingredients:
    """The inputs of one lock; safe to use from several threads.

    Attributes:
        lock_text: Canonical text of them.
        probe: Returns the bytes of the probe.
        hook: Returns the memory hook; empty for a lock without.
        build_base: Returns the base of the build stage, which has its OS packages too.
        store: Contains every file of the lock.
        archive: Path of the interpreter archive; None if the interpreter is part of the base.
        work: Directory for intermediate files; removed by its owner.
        sandbox: Returns the sandbox for the interpreter.
        python_key: Digest of all inputs of the interpreter.
    """

    lock: Lock
    lock_text: str
    probe: Callable[[], bytes]
    hook: Callable[[], bytes]
    base: BaseContent
    build_base: Callable[[], BaseContent]
    store: Store
    archive: Callable[[], Path]
    archives: VendorArchives
    work: Path
    sandbox: Callable[[], Sandbox]
    python_key: str
    _wheels: dict[str, Wheel] = field(default_factory=dict)
    _archive: tuple[Entry, ...] | None = None
    _python: TargetPython | None = None
    _stage: BuildStage | None = None
    _deflate: Deflate | None = None
    _locks: dict[str, threading.Lock] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    @property
    def series(self) -> str:
        """Major and minor version of the interpreter."""
        return self.lock.python.version.series

    @property
    def has_archive(self) -> bool:
        """True if the interpreter comes from an archive."""
        return self.lock.python.provider is PythonProvider.ARCHIVE

    @property
    def home(self) -> str:
        """Directory of the interpreter in the image."""
        return PYTHON if self.has_archive else "usr"

    @property
    def prefix(self) -> Prefix:
        """Environment that distributions are installed in."""
        return Prefix(venv=VENV, series=self.series)

    def base_tar(self) -> Path:
        """Return the tree of the base as a tar.

        Raises:
            UsageError: The base is a registry image, whose layers are packed already.
        """
        tar = self.base.provide()
        if tar is None:
            raise UsageError("operation not supported for registry images")
        return tar

    def base_file(self, path: str) -> bytes:
        """Return a small file of the base; empty if it does not exist.

        Raises:
            VerificationFailed: The path is not a regular file; following it could lead to a file of this machine.
        """
        found = [member for member in self.base.members() if member.path == path]
        if found and (found[-1].kind is not Kind.FILE or found[-1].size > _LARGEST_BASE_FILE):
            raise VerificationFailed(
                f"/{path} of the base is not a file of at most {_LARGEST_BASE_FILE} bytes",
                hint="choose another base: --base ID",
            )
        return found[-1].read() if found else b""

    def deflate(self) -> Deflate:
        """Return a zlib with the bytes that locks expect: this Python's, or that of the base."""
        with self._only_one("zlib"):
            if self._deflate is None:
                self._deflate = original(self.base.members)
            return self._deflate

    def archive_entries(self) -> tuple[Entry, ...]:
        """Return the interpreter's files at their paths in the image; empty if it is part of the base."""
        if not self.has_archive:
            return ()
        with self._only_one("archive"):
            # Once: entries read the unpacked tar later, when another thread would be writing it again.
            if self._archive is None:
                self._archive = tuple(archive_entries(self.archive(), self.work))
            return self._archive

    def python(self) -> TargetPython:
        """Return the interpreter of the image, ready to run on this machine."""
        with self._only_one("python"):
            if self._python is None:
                root = unpacked(self._python_members(), self.store, self.python_key)
                self._python = TargetPython(root=root, home=self.home, series=self.series, sandbox=self.sandbox)
            return self._python

    def _python_members(self) -> Iterator[Member]:
        """Yield the tree of the interpreter; base and archive are only opened if the first one is asked for."""
        yield from self.base.members()
        yield from (entry.member for entry in self.archive_entries())

    def wheel(self, pin: PackagePin) -> Wheel:
        """Return a distribution as a wheel; a source distribution is built first."""
        with self._only_one(pin.sha256):
            if pin.sha256 not in self._wheels:
                path = self._verified(pin)
                if not pin.is_wheel:
                    path = self.store.path(self._built(pin, path))
                wheel = open_wheel(path, pin.file)
                require_pinned(wheel, pin)
                self._wheels[pin.sha256] = wheel
            return self._wheels[pin.sha256]

    def is_open(self, pin: PackagePin) -> bool:
        """Return True if the wheel of a distribution was opened before."""
        return pin.sha256 in self._wheels

    def file(self, file: OwnFile) -> Entry:
        """Return one of the user's own files at its path.

        Raises:
            SourceUnreachable: It is not in the store.
        """
        try:
            path = self.store.verified(f"sha256:{file.sha256}")
        except FileNotFoundError as error:
            raise SourceUnreachable(
                f"{file.path} with sha256 {file.sha256} is not on this machine",
                hint="build beside the envbuilder.yaml that names it, or from a bundle: --bundle FILE",
            ) from error
        return Entry(
            member=Member(
                path=file.path.lstrip("/"),
                kind=Kind.FILE,
                mode=0o755 if file.executable else 0o644,
                mtime=EPOCH,
                size=file.size,
                open=partial(opened_at, path, 0),
            )
        )

    def build_stage(self) -> BuildStage:
        """Return the build stage of own packages, ready to run on this machine.

        Raises:
            UsageError: Its OS packages cannot be added to the base without a container engine.
        """
        with self._only_one("build stage"):
            if self._stage is None:
                base = self.build_base()
                if self.lock.build_os_packages:
                    base.added()
                tools = [open_wheel(self._verified(pin), pin.file) for pin in self.lock.group(PackageGroup.OWN_BUILD)]
                self._stage = unpack_stage(
                    base=[*base.members(), *(entry.member for entry in self.archive_entries())],
                    venv=venv_entries(self.home, self.series, self.lock.python.version.text),
                    environment=[self.wheel(pin) for pin in self.lock.below_own],
                    tools=tools,
                    prefix=self.prefix,
                    root=self.work / "stage",
                    sandbox=self.sandbox,
                    variables=self.lock.build_env,
                )
            return self._stage

    def _built(self, pin: PackagePin, sdist: Path) -> str:
        if pin.group is PackageGroup.OWN and self.lock.has_build_stage:
            there = (*self.lock.below_own, *self.lock.group(PackageGroup.OWN_BUILD))
            # Before the stage is unpacked, which takes long.
            require_build_tools(sdist, pin.file, frozenset(each.name for each in there), self.series)
            return build_in_stage(sdist, pin.file, self.build_stage(), self.store)
        tools = [self._verified(tool) for tool in self.lock.group(PackageGroup.BUILD)]
        return build_wheel(sdist, pin.file, tools, self.python(), self.store)

    def _verified(self, pin: PackagePin) -> Path:
        try:
            return self.store.verified(f"sha256:{pin.sha256}")
        except FileNotFoundError as error:
            # Another layer read it first.
            raise VerificationFailed(
                f"{pin.file} in the cache directory was damaged; it was removed", hint="run the command again"
            ) from error

    def _only_one(self, name: str) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(name, threading.Lock())
