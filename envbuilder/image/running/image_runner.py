"""Runner of commands in assembled images: the operations of an engine that probing and validating need."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from envbuilder.core.cache_directories import remove
from envbuilder.core.errors import EngineError, UsageError
from envbuilder.core.tree_manifests import holds, write_manifest
from envbuilder.image.builds import EngineInfo, ImageInfo
from envbuilder.image.running.callers import GROUP, PASSWD, Registered, registered
from envbuilder.image.running.changes import place_for_changes
from envbuilder.image.running.host_gpus import HostGpus
from envbuilder.image.running.process_settings import ProcessSettings, account, settings_of
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.runtime.command import Caller, Console, RunRequest, RunResult
from envbuilder.oci.runtime.host_devices import SEARCH
from envbuilder.oci.runtime.outputs import discard, read_inside
from envbuilder.oci.runtime.root_mounts import resolved
from envbuilder.oci.runtime.sandbox import Sandbox, Task
from envbuilder.oci.runtime.selection import ChosenSandbox
from envbuilder.oci.store import Store

Lookup: TypeAlias = Callable[[str], AssembledImage | None]
Unpack: TypeAlias = Callable[[AssembledImage, Store, Path], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """What commands need that a user follows.

    Attributes:
        chosen: Returns the sandbox, by the directory for the changes of the image.
        work: For the changes of one run.
        kept: Returns the directory of changes that are kept under a name.
    """

    chosen: Callable[[Path], ChosenSandbox]
    work: Path
    kept: Callable[[], Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRunner:
    """Runs commands in images of a store.

    Attributes:
        sandbox: Returns the sandbox; called for each run, so it should cache its result.
        lookup: Returns the image with a reference or id; None if there is none.
        unpack: Writes an image's root file system to a directory that is not there, in whole or not at all.
        trees: Unpacked images, each under its manifest's digest; made on first use.
        gpus: GPUs of this host.
        progress: Progress callback; receives one line of text.
    """

    sandbox: Callable[[], Sandbox]
    lookup: Lookup
    unpack: Unpack
    store: Store
    trees: Path
    following: Following
    gpus: HostGpus
    progress: Callable[[str], None]

    def info(self) -> EngineInfo:
        """Return the properties of the runner."""
        way = self.sandbox()
        return EngineInfo(name=way.name, version=way.version, gpus=self.gpus.available())

    def image(self, reference: str) -> ImageInfo | None:
        """Return the image with a reference; its size is that of the packed layers, which need not be unpacked yet."""
        found = self.lookup(reference)
        if found is None:
            return None
        return ImageInfo(
            id=found.config.descriptor.digest,
            diff_ids=tuple(layer.diff_id for layer in found.layers),
            labels=settings_of(found.config.content).labels,
            size=sum(layer.blob.size for layer in found.layers),
        )

    def run(self, request: RunRequest) -> RunResult:
        """Run a command in an image; `default` network means that of this host.

        Raises:
            UsageError: It requests GPUs that this host does not have, or a user that the image does not have.
            EngineError: There is no such image.
            ToolMissing: No sandbox is available.
            ToolFailed: It cannot be run.
        """
        found = self.found(request)
        with self._in_use(found) as tree:
            task = task_of(request, settings_of(found.config.content), tree)
            return self.sandbox().run(self._with_gpus(task, request))

    def follow(self, request: RunRequest, console: Console, opened: Callable[[str], None] | None = None) -> int:
        """Run a command in an image to its end with these standard streams; errors as in `run`.

        `opened` receives the paths of the files of the image that the command opens, as in `Task.opened`.

        If the request is writable, and nothing here can change images, only the home directory is writable.

        Raises:
            UsageError: Changes are to be kept that cannot be kept there; or opened files are not reported here.
        """
        found = self.found(request)
        with ExitStack() as stack:
            changes = stack.enter_context(self._place(request, found))
            chosen = self.following.chosen(changes)
            if chosen.read_only and request.keep:
                raise UsageError(
                    f"changes of the image cannot be kept in {changes}: {chosen.read_only}",
                    hint="use a directory of another file system: --keep DIR/, or ENVBUILDER_CACHE",
                )
            if chosen.read_only and opened:
                raise UsageError(
                    f"opened files of the image cannot be watched: {chosen.read_only}",
                    hint="use a directory of another file system: ENVBUILDER_CACHE",
                )
            if chosen.read_only:
                self.progress(f"the image is read-only, except for the home directory: {chosen.read_only}")
            tree = stack.enter_context(self._in_use(found))
            settings = settings_of(found.config.content)
            task = self._with_gpus(followed(request, settings, tree, changes, chosen), request)
            return chosen.sandbox.run(replace(task, console=console, opened=opened)).status

    def _with_gpus(self, task: Task, request: RunRequest) -> Task:
        """Return a task with the GPUs that the request asks for; a variable of the request wins over one of them."""
        if not (request.gpus or request.devices):
            return task
        edits = self.gpus.edits(request.devices)
        env = dict(task.env) | dict(edits.env) | dict(request.env)
        before = dict(task.env).get(SEARCH, "")
        env |= {SEARCH: ":".join(filter(None, (before, dict(edits.env).get(SEARCH, ""))))}
        return replace(
            task,
            env=tuple(sorted((name, value) for name, value in env.items() if name != SEARCH or value)),
            mounts=(*task.mounts, *edits.mounts),
            devices=edits.nodes,
        )

    def _place(self, request: RunRequest, image: AssembledImage) -> AbstractContextManager[Path]:
        named = request.keep and "/" not in request.keep
        kept = (self.following.kept() / request.keep if named else Path(request.keep)) if request.keep else None
        return place_for_changes(
            self.following.work, kept, image=request.image, digest=image.manifest.descriptor.digest
        )

    def found(self, request: RunRequest) -> AssembledImage:
        """Return the image of a request.

        Raises:
            EngineError: There is no such image.
        """
        found = self.lookup(request.image)
        if found is None:
            raise EngineError(f"image not found: {request.image}", hint="build it with `envbuilder build ENV`")
        return found

    @contextmanager
    def _in_use(self, image: AssembledImage) -> Iterator[Path]:
        """Unpack an image, and protect it from pruning while the block runs."""
        with ExitStack() as stack:
            with self.store.used():
                tree = self.tree(image)
                stack.enter_context(self.store.shared(in_use(tree.name)))
            yield tree

    def tree(self, image: AssembledImage) -> Path:
        """Return the unpacked root file system of an image; one process unpacks it, others wait.

        A modified tree is never used: it is removed and unpacked again from the layers.
        """
        name = image.manifest.descriptor.digest.removeprefix("sha256:")
        folder = self.trees / name
        if not holds(folder):
            self.trees.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self.store.only_one(f"tree-{name}"):
                if not holds(folder):
                    self._unpack(image, folder)
        return folder

    def _unpack(self, image: AssembledImage, folder: Path) -> None:
        if os.path.lexists(folder):
            self.progress(f"{folder} differs from the image: unpacking it again")
            remove(folder)
        for part in self.trees.glob(f".{folder.name}.*.part"):
            discard(part)
        self.unpack(image, self.store, folder)
        write_manifest(folder)


def in_use(tree: str) -> str:
    """Return the name of the lock in the store for the use of an unpacked image, by that of its directory."""
    return f"in-use-{tree}"


def task_of(request: RunRequest, settings: ProcessSettings, tree: Path) -> Task:
    """Return the task of a request, completed by the configuration of the image."""
    who = account(tree, request.user or settings.user)
    env = {"HOME": who.home or "/"} | dict(settings.env) | dict(request.env)
    return Task(
        tree=tree,
        command=request.command or settings.command,
        env=tuple(sorted(env.items())),
        folder=request.folder or settings.folder,
        uid=who.uid,
        gid=who.gid,
        asked=bool(request.user),
        files=request.files,
        mounts=request.mounts,
        host_network=request.network != "none",
        timeout=request.timeout,
        copy_out=request.copy_out,
        shared=request.shared,
    )


def followed(request: RunRequest, settings: ProcessSettings, tree: Path, changes: Path, chosen: ChosenSandbox) -> Task:
    """Return the task of a request that is followed: its user has a name and a writable home directory."""
    caller = request.caller
    if caller is None:
        known = account(tree, request.user or settings.user)
        caller = Caller(uid=known.uid, gid=known.gid, name="")
    user = registered(caller, *(_current(tree, changes, path) for path in (PASSWD, GROUP)))
    home, shared = user.home or "/", request.shared
    if home != "/" and (chosen.read_only or not (tree / resolved(tree, home)[1:]).is_dir()):
        shared = (*shared, (str(_home(changes, user, as_root=chosen.as_root)), home))
    task = task_of(replace(request, user=f"{user.uid}:{user.gid}"), settings, tree)
    given = {"HOME": home} | dict(settings.env) | dict(request.env)
    return replace(
        task,
        env=tuple(sorted(given.items())),
        asked=bool(request.user),
        files=(*request.files, *user.files),
        timeout=math.inf,
        copy_out="",
        shared=shared,
        changes=None if chosen.read_only or not request.writable else changes,
        ports=request.ports,
    )


def _current(tree: Path, changes: Path, path: str) -> bytes:
    """Return a file of the image, in the state of kept changes."""
    changed = read_inside(changes / "upper" / "etc", path.removeprefix("/etc/"))
    return changed if changed is not None else read_inside(tree, path) or b""


def _home(changes: Path, user: Registered, *, as_root: bool) -> Path:
    """Return a directory for the home of a user whom the image does not know; create it if it is missing."""
    home = changes / "home"
    home.mkdir(mode=0o755, exist_ok=True)
    if as_root:
        os.chown(home, user.uid, user.gid)
    return home
