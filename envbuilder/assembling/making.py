"""Make one layer of a plan: one function for each kind."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from envbuilder.assembling.bytecode import bytecode
from envbuilder.assembling.entries import Entry, completed, parents, text
from envbuilder.assembling.ingredients import Ingredients
from envbuilder.assembling.interpreter import account_entries, venv_entries
from envbuilder.assembling.libraries import IS_LIBRARY, Tap, needed
from envbuilder.assembling.links import library_links
from envbuilder.assembling.packing import Packed, Packing, write_layer, write_tar
from envbuilder.assembling.records import LayerRecord
from envbuilder.assembling.sinks import Watch
from envbuilder.assembling.wheels import brought, installed
from envbuilder.model.images import LayerFormat
from envbuilder.model.locks import PackageGroup
from envbuilder.model.memory import HOOK_PATH, START, START_NAME
from envbuilder.model.plans import Layer, LayerKind, Plan

LOCK_PATH = "opt/envbuilder/envbuilder.lock"
PROBE_PATH = "opt/envbuilder/probe.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One layer to make.

    Attributes:
        plan: The plan that it belongs to.
        layer: The layer.
        ingredients: What it is made of; all its files are in the store.
        format: How it is packed.
        expected: What it must become; None when nobody knows yet.
        jobs: How many interpreters may compile at once.
    """

    plan: Plan
    layer: Layer
    ingredients: Ingredients
    format: LayerFormat
    expected: Packed | None = None
    jobs: int = 1

    def write(self, entries: Iterable[Entry], packing: Packing, *, notes: Iterable[str] = ()) -> LayerRecord:
        """Pack entries, and note which libraries they need and bring."""
        ordered = completed(entries)
        libraries = _Libraries()
        packed = write_layer(
            ordered,
            self.ingredients.store,
            self.format,
            packing=packing,
            expected=self.expected,
            watcher=libraries.watch,
            deflate=self.ingredients.deflate,
        )
        brings = {match["name"] for entry in ordered if (match := IS_LIBRARY.fullmatch(entry.path))}
        return LayerRecord(
            packed=packed,
            needs=tuple(sorted(libraries.needs() - brings)),
            brings=tuple(sorted(brings)),
            notes=tuple(notes),
        )


def make_layer(task: Task) -> LayerRecord:
    """Write one layer into the store.

    Raises:
        VerificationFailed: It became something else than expected, or a file is damaged.
        BuildFailed: A source distribution cannot be built.
        ToolFailed: The image's interpreter cannot be run here.
        DiskFull: There is no room.
    """
    return _MAKERS[task.layer.kind](task)


def _base(task: Task) -> LayerRecord:
    content = task.ingredients.base
    own = task.ingredients
    packed = write_tar(content.tar(), own.store, task.format, expected=task.expected, deflate=own.deflate)
    return LayerRecord(packed=packed)


def _system(task: Task) -> LayerRecord:
    added = task.ingredients.base.added()
    return task.write((Entry(member=member) for member in added), Packing.COMPRESSED)


def _interpreter(task: Task) -> LayerRecord:
    own = task.ingredients
    user = own.lock.user
    entries = [
        *own.archive_entries(),
        *venv_entries(own.home, own.series, own.lock.python.version.text),
        *account_entries(user, own.base_file("etc/passwd"), own.base_file("etc/group")),
    ]
    with bytecode(_standard_library(own), own.python(), own.work) as compiled:
        return task.write([*entries, *compiled], Packing.COMPRESSED)


def _standard_library(own: Ingredients) -> list[Entry]:
    """Sources of the standard library that have no bytecode yet."""
    if own.has_archive:
        return [entry for entry in own.archive_entries() if f"/lib/python{own.series}/" in f"/{entry.path}"]
    folder = f"usr/lib/python{own.series}/"
    found = [Entry(member=member) for member in own.base.members() if member.path.startswith(folder)]
    return [] if any("/__pycache__/" in entry.path for entry in found) else found


def _wheels(task: Task) -> LayerRecord:
    return task.write(_installed(task, task.layer), Packing.SPLICED)


def _own(task: Task) -> LayerRecord:
    conflicts = _Conflicts()
    entries = [entry for entry in _installed(task, task.layer) if conflicts.see(entry)]
    with bytecode(entries, task.ingredients.python(), task.ingredients.work) as compiled:
        return task.write([*entries, *compiled], Packing.MIXED, notes=conflicts.found)


def _installed(task: Task, layer: Layer) -> Iterator[Entry]:
    for pin in layer.packages:
        yield from installed(task.ingredients.wheel(pin), task.ingredients.prefix)


def _links(task: Task) -> LayerRecord:
    own = task.ingredients
    paths = [path for pin in own.lock.group(PackageGroup.CUDA) for path in own.wheel(pin).contents]
    return task.write(library_links(paths, own.prefix.site, task.layer.links), Packing.COMPRESSED)


def _bytecode(task: Task) -> LayerRecord:
    """Bytecode of each layer below by itself, several at a time; what lies higher wins, as in the image."""
    own = task.ingredients
    conflicts = _Conflicts()
    sources = [
        [entry for entry in _brought(task, layer) if conflicts.see(entry) and entry.path.endswith(".py")]
        for layer in task.plan.of(LayerKind.CUDA, LayerKind.FRAMEWORK, LayerKind.PACKAGES)
    ]
    with ExitStack() as stack, ThreadPoolExecutor(task.jobs) as pool:

        def compiled(entries: list[Entry]) -> list[Entry]:
            return stack.enter_context(bytecode(entries, own.python(), own.work))

        parts = list(pool.map(compiled, sources))
        return task.write((entry for part in parts for entry in part), Packing.COMPRESSED, notes=conflicts.found)


def _brought(task: Task, layer: Layer) -> Iterator[Entry]:
    for pin in layer.packages:
        yield from brought(task.ingredients.wheel(pin), task.ingredients.prefix)


def _files(task: Task) -> LayerRecord:
    """Own files; folders that the base or the account brings stay as they are."""
    own = task.ingredients
    files = [own.file(file) for file in task.layer.files]
    above = {path for entry in files for path in parents(entry.path)}
    base = (Entry(member=member) for member in own.base.members() if member.path in above)
    account = (entry for entry in account_entries(own.lock.user, b"", b"") if entry.path in above)
    return task.write([*base, *account, *files], Packing.COMPRESSED)


def _image(task: Task) -> LayerRecord:
    own = task.ingredients
    entries = [text(LOCK_PATH, own.lock_text.encode()), text(PROBE_PATH, own.probe())]
    if hook := own.hook():
        start = f"{own.prefix.site}/{START_NAME}"
        entries += [text(HOOK_PATH.lstrip("/"), hook), text(start, f"{START}\n".encode())]
    return task.write(entries, Packing.COMPRESSED)


_MAKERS: dict[LayerKind, Callable[[Task], LayerRecord]] = {
    LayerKind.BASE: _base,
    LayerKind.SYSTEM: _system,
    LayerKind.INTERPRETER: _interpreter,
    LayerKind.CUDA: _wheels,
    LayerKind.FRAMEWORK: _wheels,
    LayerKind.PACKAGES: _wheels,
    LayerKind.LINKS: _links,
    LayerKind.BYTECODE: _bytecode,
    LayerKind.OWN: _own,
    LayerKind.FILES: _files,
    LayerKind.IMAGE: _image,
}


class _Conflicts:
    """Paths that two distributions bring with different contents; the later one is in the image.

    Attributes:
        found: One line for each.
    """

    def __init__(self) -> None:
        self.found: list[str] = []
        self._seen: dict[str, tuple[str, int, int]] = {}

    def see(self, entry: Entry) -> bool:
        """Note an entry; always true."""
        mark = (entry.origin, entry.member.size, _sum(entry))
        before = self._seen.get(entry.path)
        self._seen[entry.path] = mark
        if before and before[0] != mark[0] and before[1:] != mark[1:]:
            self.found.append(f"{entry.path} is in {before[0]} and in {mark[0]}, and differs: the latter is taken")
        return True


def _sum(entry: Entry) -> int:
    return entry.spliced.crc if entry.spliced else zlib.crc32(entry.member.read())


class _Libraries:
    """Taps every library of a layer, one after the other: a tap holds the end of its library in memory."""

    def __init__(self) -> None:
        self._tapped: tuple[Entry, Tap] | None = None
        self._names: set[str] = set()

    def watch(self, entry: Entry) -> Watch | None:
        self._settle()
        if not IS_LIBRARY.fullmatch(entry.path):
            return None
        tap = Tap()
        self._tapped = (entry, tap)
        return tap

    def needs(self) -> frozenset[str]:
        self._settle()
        return frozenset(self._names)

    def _settle(self) -> None:
        if self._tapped:
            self._names |= needed(*self._tapped)
            self._tapped = None
