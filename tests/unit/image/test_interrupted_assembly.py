"""Ctrl-C ends downloads, compilations and the writing of layers at once; after an error, other layers are completed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from envbuilder.core.errors import SourceUnreachable
from envbuilder.image.assemble import assemble
from envbuilder.image.layers.ports import AssemblyContext
from envbuilder.image.layers.schedule import cancellable, cancelled_by_interrupt
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.lock import Lock, PackageGroup
from envbuilder.oci.images import LayerFormat
from envbuilder.oci.runtime.cancellation import EventCancellation
from envbuilder.oci.runtime.command import RunResult
from envbuilder.oci.runtime.processes import wait_for
from envbuilder.oci.runtime.sandbox import Task
from envbuilder.oci.tar.members import file_of
from envbuilder.oci.tar.writing import write
from tests.unit.image.toys import ToyPackages, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(folder=tmp_path)


@pytest.fixture(autouse=True)
def ordinary_interrupts() -> Iterator[None]:
    """What a command has in a terminal: a job in the background of a script, as CI may be, ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@dataclass(kw_only=True)
class CtrlC:
    """Types Ctrl-C, once."""

    _is_typed: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def type(self) -> None:
        main = threading.main_thread().ident
        assert main is not None
        with self._lock:
            if not self._is_typed.is_set():
                self._is_typed.set()
                signal.pthread_kill(main, signal.SIGINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndlessSandbox:
    """A sandbox in which a command never ends; Ctrl-C is typed as soon as one runs."""

    keyboard: CtrlC
    name: str = "endless"
    version: str = ""

    def run(self, task: Task) -> RunResult:
        self.keyboard.type()
        wait_for(("/bin/sleep", "1000"), timeout=1000, environ={}, cancellation=task.cancellation)
        raise AssertionError


@dataclass(frozen=True)
class EndlessPackages(ToyPackages):
    """An index whose files never end; Ctrl-C is typed as soon as one is fetched."""

    keyboard: CtrlC = field(default_factory=CtrlC)

    def fetch(self, file: IndexFile, progress: Callable[[int, int], None]) -> None:
        self.keyboard.type()
        while True:
            progress(1, file.size)


def interrupted(lock: Lock, context: AssemblyContext) -> None:
    with pytest.raises(KeyboardInterrupt):
        assemble([lock], LayerFormat.GZIP_SPLICED, context, lambda _: None)
    assert not any(context.work.iterdir())


def test_an_interrupt_ends_a_running_compilation(world: World) -> None:
    files = {"etc/passwd": b"root:x:0:0::/root:/bin/sh\n", "lib64/ld-linux-x86-64.so.2": b"loader"}
    members = [file_of(path, content, mtime=1) for path, content in files.items()]
    world.base = write(members, world.folder / "runnable.tar")
    keyboard = CtrlC()
    ports = replace(world.ports("here"), sandbox=lambda: EndlessSandbox(keyboard=keyboard))
    interrupted(world.lock(world.pin("six", {"six/__init__.py": b"x = 1\n"}, PackageGroup.PACKAGES)), ports)


def test_an_interrupt_ends_running_downloads(world: World) -> None:
    ports = world.ports("here")
    interrupted(world.lock(), replace(ports, packages=EndlessPackages(world, ports.store)))


def test_an_interrupt_ends_the_writing_of_a_layer(world: World) -> None:
    with closing(EventCancellation()) as cancellation:
        context = cancellable(world.ports("here"), cancellation)
        cancellation.cancel()
        with pytest.raises(CancelledError):
            context.store.put(b"a layer")
        assert not any(context.store.entries())


def test_an_error_cancels_nothing() -> None:
    with closing(EventCancellation()) as cancellation:
        with pytest.raises(SourceUnreachable), cancelled_by_interrupt(cancellation):
            raise SourceUnreachable("gone")
        cancellation.check()
        with pytest.raises(KeyboardInterrupt), cancelled_by_interrupt(cancellation):
            raise KeyboardInterrupt
        with pytest.raises(CancelledError):
            cancellation.check()
