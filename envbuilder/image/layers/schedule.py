"""Scheduler of downloads and layers: a layer is made as soon as its files are there, and only once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from envbuilder.catalog.archives import ArchivePin
from envbuilder.core.errors import EnvbuilderError, VerificationFailed
from envbuilder.image.base.provided_libraries import provided
from envbuilder.image.builds import BuildEvent, BuildStep, StepFinished, StepStarted
from envbuilder.image.container_engine import Listener
from envbuilder.image.layers.build_state import Draft
from envbuilder.image.layers.make import LayerTask, make_layer
from envbuilder.image.layers.ports import AssemblyContext, LayerPushes
from envbuilder.image.layers.records import LayerRecord
from envbuilder.image.plan.plan import Layer, LayerKind
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.lock import PackageGroup, PackagePin
from envbuilder.oci.images import ImageLayerPin
from envbuilder.oci.runtime.cancellation import EventCancellation, cancellable_sandbox
from envbuilder.oci.tar.members import of_tar
from envbuilder.oci.transfers import Transfer

_CONNECTIONS = 6
_MOST_THREADS = 256
_SECONDS_UNTIL_NOTICED = 0.5
"""A signal that arrives just before the main thread waits for a lock is handled when the wait ends, not earlier:
https://docs.python.org/3/library/signal.html#execution-of-python-signal-handlers"""
_SLOWEST = (LayerKind.BASE, LayerKind.BYTECODE, LayerKind.INTERPRETER)


@dataclass(kw_only=True)
class Journal:
    """The steps of a build and their durations, reported to a listener by one thread at a time.

    Attributes:
        clock: Returns seconds, monotonic.
    """

    listener: Listener
    clock: Callable[[], float]
    _steps: list[tuple[str, float]] = field(default_factory=list)
    _seconds: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def emit(self, event: BuildEvent) -> None:
        """Pass an event on."""
        with self._lock:
            self.listener(event)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Record a block as a step."""
        began = self.start(name)
        try:
            yield
        except EnvbuilderError as error:
            self.finish(name, began, error.message.splitlines()[0])
            raise
        self.finish(name, began)

    def start(self, name: str) -> float:
        """Begin a step; return the time."""
        began = self.clock()
        self._steps.append((name, began))
        self.emit(StepStarted(step=name))
        return began

    def finish(self, name: str, began: float, error: str = "") -> None:
        """End a step."""
        self._seconds[name] = self.clock() - began
        self.emit(StepFinished(step=name, seconds=self._seconds[name], cached=False, error=error))

    def steps(self) -> tuple[BuildStep, ...]:
        """Return all steps, in the order of their start."""
        return tuple(
            BuildStep(name=name, seconds=self._seconds.get(name, 0.0), cached=False) for name, _ in self._steps
        )


def cancellable(context: AssemblyContext, cancellation: EventCancellation) -> AssemblyContext:
    """Return a context whose sandboxed processes and new files of the store are cancelled by an event."""
    sandbox = context.sandbox
    return replace(
        context,
        store=replace(context.store, check=cancellation.check),
        sandbox=lambda: cancellable_sandbox(sandbox(), cancellation),
    )


@contextmanager
def cancelled_by_interrupt(cancellation: EventCancellation) -> Iterator[None]:
    """Cancel what runs if the block is interrupted; after an error of a layer, the others are completed and kept."""
    try:
        yield
    except Exception:
        raise
    except BaseException:
        cancellation.cancel()
        raise


@dataclass(kw_only=True)
class Fetching:
    """Downloads, several at a time, the largest first."""

    context: AssemblyContext
    journal: Journal
    stack: ExitStack
    cancellation: EventCancellation
    _futures: dict[str, Future[Any]] = field(default_factory=dict)
    _pool: ThreadPoolExecutor | None = None
    _progress: dict[str, int] = field(default_factory=dict)
    _step: str = ""
    _began: float = 0.0
    _left: int = 0
    _counting: threading.Lock = field(default_factory=threading.Lock)

    def order(self, missing: Iterable[PackagePin], archives: Iterable[ArchivePin], drafts: Sequence[Draft]) -> None:
        """Start to download files and vendor archives; they belong to the locks of the drafts."""
        pins = {pin.sha256: pin for pin in missing}
        wanted = {pin.sha256: pin for pin in archives}
        if not pins and not wanted:
            return
        self._step = f"files to download: {len(pins) + len(wanted)}"
        self._began = self.journal.start(self._step)
        pool = self._connections()
        total = sum(pin.size for pin in pins.values()) + sum(archive.size for archive in wanted.values())
        files = self._places(list(pins.values()), drafts)
        self._left = len(wanted) + len(files)
        for archive in wanted.values():
            self._futures[archive.sha256] = pool.submit(self._fetch_archive, archive, total)
        for file in files:
            self._futures[file.sha256] = pool.submit(self._fetch, file, total)

    def pull(self, draft: Draft) -> None:
        """Fetch the known layers of an image that are missing from the store, as far as the cache has them."""
        # Two layers may be equal, such as empty ones.
        blobs = list(dict.fromkeys(layer.blob(draft.layer_format) for layer in draft.to_pull()))
        held = self.context.cache.held(blobs) if blobs else frozenset()
        if held:
            wanted = [blob for blob in blobs if blob.digest in held]
            with self.journal.step(f"layers from the cache: {len(wanted)}"):
                self.context.cache.pull(wanted, self._pulled(sum(blob.size for blob in wanted)))
        draft.forget_missing()

    def order_base(self, draft: Draft) -> None:
        """Start to fetch the base, if it is needed: a layer that waits for it must not keep others from being made."""
        if draft.needs_base() and draft.lock.base.digest not in self._futures:
            self._futures[draft.lock.base.digest] = self._connections().submit(draft.ingredients.base.provide)

    def wait(self, files: Iterable[str]) -> None:
        """Wait until the files with these hashes are there; raise the error of a failed download."""
        for sha256 in files:
            if sha256 in self._futures:
                self._futures[sha256].result()

    def close(self) -> None:
        """Wait until everything is there."""
        for future in self._futures.values():
            future.result()

    def _connections(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_CONNECTIONS, thread_name_prefix="fetch")
            self.stack.callback(self._pool.shutdown, wait=True, cancel_futures=True)
        return self._pool

    def _places(self, pins: list[PackagePin], drafts: Sequence[Draft]) -> list[IndexFile]:
        left = {pin.sha256: pin for pin in pins}
        found: list[tuple[PackagePin, IndexFile]] = []
        for draft in drafts:
            mine = [left.pop(pin.sha256) for pin in draft.lock.packages if pin.sha256 in left]
            if mine:
                found += zip(mine, self.context.packages.locate(mine, draft.ingredients.series), strict=True)
        # TensorFlow takes longest: its bytecode is compiled after the download.
        found.sort(key=lambda pair: (pair[0].group is not PackageGroup.FRAMEWORK, -pair[0].size, pair[0].file))
        # The size of a file is in the lock; the index is only asked for its address.
        return [replace(file, size=pin.size or file.size) for pin, file in found]

    def _fetch(self, file: IndexFile, total: int) -> None:
        self.context.packages.fetch(file, self._progress_of(file.sha256, total))
        self._count()

    def _fetch_archive(self, pin: ArchivePin, total: int) -> None:
        self.context.archives.files.fetch(pin, self._progress_of(pin.sha256, total))
        self._count()

    def _count(self) -> None:
        """End the step with its last file: layers may be made for minutes after it."""
        with self._counting:
            self._left -= 1
            is_last = not self._left
        if is_last:
            self.journal.finish(self._step, self._began)

    def _pulled(self, total: int) -> Callable[[Transfer], None]:
        def listen(transfer: Transfer) -> None:
            self._progress[transfer.item] = transfer.current
            self.journal.emit(Transfer(item="pulled", current=sum(self._progress.values()), total=total))

        return listen

    def _progress_of(self, sha256: str, total: int) -> Callable[[int, int], None]:
        def progress(done: int, _all: int) -> None:
            self.cancellation.check()
            self._progress[sha256] = done
            self.journal.emit(Transfer(item="downloaded", current=sum(self._progress.values()), total=total))

        return progress


@dataclass(kw_only=True)
class Making:
    """Layers, each made once, as soon as its files are there."""

    context: AssemblyContext
    journal: Journal
    fetching: Fetching
    stack: ExitStack
    records: dict[str, Future[LayerRecord]] = field(default_factory=dict)
    _sends: list[Future[None]] = field(default_factory=list)
    _pool: ThreadPoolExecutor = field(init=False)
    _slots: threading.Semaphore = field(init=False)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._pool = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="layer")
        self._slots = threading.Semaphore(self.context.jobs)
        self.stack.callback(self._pool.shutdown, wait=True, cancel_futures=True)

    def order(self, draft: Draft) -> None:
        """Start to make the missing layers of an image that no other image has started."""
        for layer in sorted(draft.to_make(), key=_by_duration):
            key = draft.keys[layer.id]
            if key not in self.records:
                task = LayerTask(
                    plan=draft.plan,
                    layer=layer,
                    ingredients=draft.ingredients,
                    format=draft.layer_format,
                    expected=draft.known[layer.id].packed if layer.id in draft.known else None,
                    jobs=self.context.jobs,
                )
                self.records[key] = self._pool.submit(self._make, key, task, draft.waits_for(layer))

    def order_sends(self, draft: Draft, pushes: LayerPushes | None) -> None:
        """Start to send the layers of an image, each as soon as it is in the store; after an error, stop them.

        Args:
            draft: The image.
            pushes: Registries that receive them; None for the cache only.
        """
        # Runs before the pool is closed, which waits for its threads.
        self.stack.push(lambda kind, _error, _traceback: self._stop(pushes) if kind else None)
        for layer in draft.layers if pushes or self.context.cache_writer else ():
            made = self.records.get(draft.keys[layer.id])
            self._sends.append(self._pool.submit(self._send, draft, layer, made, pushes))
        for pin in draft.in_base:
            if pushes and pin.blob.digest not in draft.elsewhere:
                self._sends.append(self._pool.submit(self._send_of_base, pushes, pin, draft.lock.base.digest))

    def settle(self) -> None:
        """Wait until all layers are made and sent; raise the first error, whichever layer it is of."""
        futures: list[Future[Any]] = [*self.records.values(), *self._sends]
        while True:
            done, left = wait(futures, timeout=_SECONDS_UNTIL_NOTICED, return_when=FIRST_EXCEPTION)
            for future in futures:
                if future in done:
                    future.result()
            if not left:
                return

    def _stop(self, pushes: LayerPushes | None) -> None:
        self._stopped.set()
        if self.context.cache_writer:
            self.context.cache_writer.stop()
        if pushes:
            pushes.stop()

    def _send(self, draft: Draft, layer: Layer, made: Future[LayerRecord] | None, pushes: LayerPushes | None) -> None:
        record = made.result() if made else draft.known[layer.id]
        if pushes and record.packed.digest not in draft.elsewhere:
            pushes.send(layer.id, record.packed.blob(draft.layer_format))
        # A statement of a lock alone must not become one of a cache that others believe.
        if self.context.cache_writer and (made or draft.is_confirmed(layer)):
            self.context.cache_writer.keep(draft.keys[layer.id], record, draft.layer_format)

    def _send_of_base(self, pushes: LayerPushes, layer: ImageLayerPin, base: str) -> None:
        self.fetching.wait([base])
        pushes.send(layer.id, layer.blob)

    def _make(self, key: str, task: LayerTask, files: Iterable[str]) -> LayerRecord:
        self.fetching.wait(files)
        with self._slots, self.context.store.only_one(f"layer-{key.removeprefix('sha256:')}"):
            if self._stopped.is_set():
                raise CancelledError
            known = self.context.records.layer(key)
            if known and self.context.store.has(known.packed.digest) and task.expected in {None, known.packed}:
                return known  # Another process made it meanwhile.
            with self.journal.step(task.layer.title):
                record = _with_libraries(_named(task), task)
            self.context.records.keep_layer(key, record)
            return record


def _by_duration(layer: Layer) -> int:
    """Return a number by which layers that take long come first: at the end, short ones keep all processors busy."""
    return _SLOWEST.index(layer.kind) if layer.kind in _SLOWEST else len(_SLOWEST)


def _with_libraries(record: LayerRecord, task: LayerTask) -> LayerRecord:
    """Return the record of a base with the names of its libraries, so that comparing them does not need the base."""
    if task.layer.kind is not LayerKind.BASE:
        return record
    return replace(record, brings=tuple(sorted(provided(of_tar(task.ingredients.base_tar())))))


def _named(task: LayerTask) -> LayerRecord:
    try:
        return make_layer(task)
    except VerificationFailed as error:
        error.message = f"layer {task.layer.id}: {error.message}"
        error.args = (error.message,)
        raise
