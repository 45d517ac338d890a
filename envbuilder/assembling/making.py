"""Make one layer of a plan: one function for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from envbuilder.assembling.bytecode import bytecode
from envbuilder.assembling.entries import Entry, completed, text
from envbuilder.assembling.ingredients import Ingredients
from envbuilder.assembling.interpreter import account_entries, venv_entries
from envbuilder.assembling.libraries import IS_LIBRARY, Tap, needed
from envbuilder.assembling.links import library_links
from envbuilder.assembling.packing import Packed, Packing, write_layer, write_tar
from envbuilder.assembling.records import LayerRecord
from envbuilder.assembling.sinks import Watch
from envbuilder.assembling.wheels import installed
from envbuilder.model.images import LayerFormat
from envbuilder.model.locks import PackageGroup
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
    packed = write_tar(content.tar(), task.ingredients.store, task.format, expected=task.expected)
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
    entries = list(_installed(task, task.layer))
    return task.write(entries, Packing.SPLICED, notes=_conflicts(entries))


def _own(task: Task) -> LayerRecord:
    entries = list(_installed(task, task.layer))
    with bytecode(entries, task.ingredients.python(), task.ingredients.work) as compiled:
        return task.write([*entries, *compiled], Packing.MIXED, notes=_conflicts(entries))


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
    layers = task.plan.of(LayerKind.CUDA, LayerKind.FRAMEWORK, LayerKind.PACKAGES)
    below = [list(_installed(task, layer)) for layer in layers]
    with ExitStack() as stack, ThreadPoolExecutor(task.jobs) as pool:

        def compiled(entries: list[Entry]) -> list[Entry]:
            return stack.enter_context(bytecode(entries, own.python(), own.work))

        parts = list(pool.map(compiled, below))
        notes = _conflicts(entry for entries in below for entry in entries)
        return task.write((entry for part in parts for entry in part), Packing.COMPRESSED, notes=notes)


def _image(task: Task) -> LayerRecord:
    own = task.ingredients
    entries = (text(LOCK_PATH, own.lock_text.encode()), text(PROBE_PATH, own.probe()))
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
    LayerKind.IMAGE: _image,
}


def _conflicts(entries: Iterable[Entry]) -> list[str]:
    """Paths that two distributions bring with different contents; the later one is in the image."""
    first: dict[str, Entry] = {}
    found = []
    for entry in entries:
        before = first.get(entry.path)
        first[entry.path] = entry
        if before and before.origin != entry.origin and not _is_same(before, entry):
            found.append(f"{entry.path} is in {before.origin} and in {entry.origin}, and differs: the latter is taken")
    return found


def _is_same(one: Entry, two: Entry) -> bool:
    if one.spliced and two.spliced:
        return (one.member.size, one.spliced.crc) == (two.member.size, two.spliced.crc)
    return one.member.kind is two.member.kind and one.member.size == two.member.size and _content(one) == _content(two)


def _content(entry: Entry) -> bytes:
    return entry.member.read()


class _Libraries:
    """Taps every library of a layer."""

    def __init__(self) -> None:
        self._taps: list[tuple[Entry, Tap]] = []

    def watch(self, entry: Entry) -> Watch | None:
        if not IS_LIBRARY.fullmatch(entry.path):
            return None
        tap = Tap()
        self._taps.append((entry, tap))
        return tap

    def needs(self) -> frozenset[str]:
        return frozenset(name for entry, tap in self._taps for name in needed(entry, tap))
