"""Runner of commands in assembled images: the operations of an engine that probing and validating need."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from envbuilder.core.cache_directories import remove
from envbuilder.core.errors import EngineError, UsageError
from envbuilder.core.tree_manifests import holds, write_manifest
from envbuilder.image.builds import EngineInfo, ImageInfo
from envbuilder.image.running.process_settings import Settings, account, settings_of
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.runtime.command import Output, RunRequest, RunResult
from envbuilder.oci.runtime.outputs import discard
from envbuilder.oci.runtime.sandbox import Sandbox, Task
from envbuilder.oci.store import Store

Lookup: TypeAlias = Callable[[str], AssembledImage | None]
Unpack: TypeAlias = Callable[[AssembledImage, Store, Path], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRunner:
    """Runs commands in images of a store.

    Attributes:
        sandbox: Returns the sandbox; called for each run, so it should cache its result.
        lookup: Returns the image with a reference or id; None if there is none.
        unpack: Writes an image's root file system to a directory that is not there, in whole or not at all.
        store: Contains the layers.
        trees: Unpacked images, each under its manifest's digest; made on first use.
        progress: Progress callback; receives one line of text.
    """

    sandbox: Callable[[], Sandbox]
    lookup: Lookup
    unpack: Unpack
    store: Store
    trees: Path
    progress: Callable[[str], None]

    def info(self) -> EngineInfo:
        """Return the properties of the runner; it never has GPUs."""
        way = self.sandbox()
        return EngineInfo(
            name=way.name, version=way.version, api="", storage="", gpus=False, sessionless_buildkit=False
        )

    def image(self, reference: str) -> ImageInfo | None:
        """Return the image with a reference; its size is that of the packed layers, which need not be unpacked yet."""
        found = self.lookup(reference)
        if found is None:
            return None
        return ImageInfo(
            id=found.config.descriptor.digest,
            tags=(),
            digests=(),
            diff_ids=tuple(layer.diff_id for layer in found.layers),
            labels=settings_of(found.config.content).labels,
            size=sum(layer.blob.size for layer in found.layers),
        )

    def run(self, request: RunRequest) -> RunResult:
        """Run a command in an image; `default` network means that of this host.

        Raises:
            UsageError: It requests GPUs, or a user that the image does not have.
            EngineError: There is no such image.
            ToolMissing: No sandbox is available.
            ToolFailed: It cannot be run.
        """
        return self._run(request)

    def follow(self, request: RunRequest, output: Output) -> int:
        """Run a command in an image to its end, and pass on its output as it is written; errors as in `run`."""
        return self._run(replace(request, timeout=math.inf, copy_out=""), output).status

    def _run(self, request: RunRequest, output: Output | None = None) -> RunResult:
        if request.gpus:
            raise UsageError(
                "GPUs are not supported without a container engine",
                hint="use --engine docker, or build a squashfs image (-o FILE.sqsh) for `apptainer exec --nv`",
            )
        found = self.lookup(request.image)
        if found is None:
            raise EngineError(f"image not found: {request.image}", hint="build it with `envbuilder build ENV`")
        with self._in_use(found) as tree:
            task = task_of(request, settings_of(found.config.content), tree)
            return self.sandbox().run(replace(task, output=output))

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
    """Return the name of the lock in the store for the use of an unpacked image.

    Args:
        tree: Name of the directory.
    """
    return f"in-use-{tree}"


def task_of(request: RunRequest, settings: Settings, tree: Path) -> Task:
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
