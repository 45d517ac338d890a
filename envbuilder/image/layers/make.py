"""Making of one layer of a plan: one function for each kind."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from envbuilder.core.errors import VerificationFailed
from envbuilder.core.image_layout import HOOK_FILE, LOCK_FILE, PROBE_FILE
from envbuilder.core.image_paths import parents
from envbuilder.core.memory_policy import START, START_NAME
from envbuilder.image.layers.admission import Clashes, admitted
from envbuilder.image.layers.bytecode import bytecode, source_size
from envbuilder.image.layers.compression import Watch
from envbuilder.image.layers.entries import Entry, completed, text
from envbuilder.image.layers.estargz import Prefetch
from envbuilder.image.layers.inputs import Ingredients
from envbuilder.image.layers.interpreter import account_entries, venv_entries
from envbuilder.image.layers.kept_bytecode import KeptBytecode
from envbuilder.image.layers.layer_writer import Packed, Packing, write_layer, write_tar
from envbuilder.image.layers.libraries import library_entries, required, wheel_links
from envbuilder.image.layers.needed_libraries import IS_LIBRARY, Tap, needed
from envbuilder.image.layers.records import LayerRecord
from envbuilder.image.layers.wheels import brought, scripts
from envbuilder.image.plan.layers import WORTH_COMPILING
from envbuilder.image.plan.plan import WHEELS, Layer, LayerKind, Plan
from envbuilder.lock.lock import PackageGroup, PackagePin
from envbuilder.oci.images import LayerFormat
from envbuilder.oci.tar.members import EPOCH, Kind, Member


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTask:
    """One layer to make.

    Attributes:
        ingredients: Its inputs; all its files are in the store.
        expected: The expected result; None if it is unknown.
        jobs: Maximum number of interpreters that compile at once.
    """

    plan: Plan
    layer: Layer
    ingredients: Ingredients
    format: LayerFormat
    expected: Packed | None = None
    jobs: int = 1

    @property
    def prefetch(self) -> Prefetch:
        """What is fetched of the layer before a container starts."""
        named = dict(self.plan.lock.prioritized_files).get(self.layer.id, ())
        return Prefetch(whole=self.layer.kind.is_prefetched, files=frozenset(named))

    def missing(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return a note about listed files that are not among relative paths of the layer; nothing in other formats."""
        lacking = self.prefetch.files - {f"/{path}" for path in paths} if self.format is LayerFormat.ESTARGZ else ()
        if not lacking:
            return ()
        where = f"the layer {self.layer.id} lacks {len(lacking)} of `prioritized_files`"
        return (f"{where}, such as {min(lacking)}: record the reads again",)

    def write(
        self,
        entries: Iterable[Entry],
        packing: Packing,
        *,
        notes: Iterable[str] = (),
        needs: Iterable[str] = (),
    ) -> LayerRecord:
        """Write entries as a layer, and record which libraries they need and provide.

        `needs` are the sonames that entries require which are not from wheels.
        """
        ordered = completed(entries)
        libraries = _Libraries()
        packed = write_layer(
            ordered,
            self.ingredients.store,
            self.format,
            packing=packing,
            prefetch=self.prefetch,
            expected=self.expected,
            watcher=libraries.watch,
            deflate=self.ingredients.deflate,
        )
        notes = (*notes, *self.missing(entry.path for entry in ordered))
        brings = {match["name"] for entry in ordered if (match := IS_LIBRARY.fullmatch(entry.path))}
        return LayerRecord(
            packed=packed,
            needs=tuple(sorted({*libraries.needs(), *needs} - brings)),
            brings=tuple(sorted(brings)),
            notes=tuple(notes),
        )


def make_layer(task: LayerTask) -> LayerRecord:
    """Write one layer into the store.

    Raises:
        VerificationFailed: The result differs from the expected one, or a file is damaged.
        BuildFailed: A source distribution cannot be built.
        ToolFailed: The image's interpreter cannot be run on this machine.
        DiskFull: There is no room.
    """
    return _MAKERS[task.layer.kind](task)


def _base(task: LayerTask) -> LayerRecord:
    own = task.ingredients
    packed = write_tar(
        own.base_tar(), own.store, task.format, prefetch=task.prefetch, expected=task.expected, deflate=own.deflate
    )
    return LayerRecord(packed=packed, notes=task.missing(member.path for member in own.base.members()))


def _system(task: LayerTask) -> LayerRecord:
    added = task.ingredients.base.added()
    return task.write((Entry(member=member) for member in added), Packing.COMPRESSED)


def _interpreter(task: LayerTask) -> LayerRecord:
    own = task.ingredients
    user = own.lock.user
    entries = [
        *own.archive_entries(),
        *venv_entries(own.home, own.series, own.lock.python.version.text),
        *account_entries(user, own.base_file("etc/passwd"), own.base_file("etc/group")),
    ]
    with bytecode(_standard_library(own), own.python(), own.work, task.jobs) as compiled:
        return task.write([*entries, *compiled], Packing.COMPRESSED)


def _standard_library(own: Ingredients) -> list[Entry]:
    """Return the sources of the standard library without bytecode."""
    if own.has_archive:
        return [entry for entry in own.archive_entries() if f"/lib/python{own.series}/" in f"/{entry.path}"]
    folder = f"usr/lib/python{own.series}/"
    found = [Entry(member=member) for member in own.base.members() if member.path.startswith(folder)]
    return [] if any("/__pycache__/" in entry.path for entry in found) else found


def _libraries(task: LayerTask) -> LayerRecord:
    own = task.ingredients
    entries = [
        entry for pin in task.layer.archives for entry in library_entries(pin, own.archives.libraries(pin), own.store)
    ]
    needs = {name for entry in entries for name in required(entry)}
    return task.write(entries, Packing.COMPRESSED, needs=needs)


def _wheels(task: LayerTask) -> LayerRecord:
    return task.write(_installed(task, task.layer), Packing.SPLICED)


def _added(task: LayerTask) -> LayerRecord:
    """Make a layer above the environment: tools of profiles, or own packages."""
    clashes = Clashes(_sum, task.ingredients.lock.allow)
    for entry, own in _below(task):
        clashes.see(entry, own=own)
    noted = len(clashes.notes)
    entries = list(_installed(task, task.layer))
    for entry in entries:
        clashes.see(entry, own=True)
    with _compiled(task, entries if source_size(entries) >= WORTH_COMPILING else ()) as compiled:
        return task.write([*entries, *compiled], Packing.MIXED, notes=clashes.notes[noted:])


def _installed(task: LayerTask, layer: Layer) -> Iterator[Entry]:
    own = task.ingredients
    allowed = own.lock.allow if layer.kind is LayerKind.OWN else ()
    for pin in layer.packages:
        wheel = own.wheel(pin)
        yield from admitted(wheel, own.prefix, allowed)


def _below(task: LayerTask) -> Iterator[tuple[Entry, bool]]:
    """Yield the entries of distributions in lower layers, if their wheels are in the store.

    With True for those of the same kind of layer, which may replace each other's files.

    Their layers can be known without the wheels. `validate --tier static` compares the rest.
    """
    own = task.ingredients
    for layer in takewhile(lambda layer: layer != task.layer, task.plan.layers):
        for pin in layer.packages:
            if pin.is_wheel and own.store.has(f"sha256:{pin.sha256}"):
                for entry in _content(own, pin):
                    yield entry, layer.kind is task.layer.kind


def clashes_between_packages(plan: Plan, own: Ingredients) -> tuple[str, ...]:
    """Return a note for each path that two packages of the environment contain with different content.

    Only wheels that were opened to make a layer are compared: others would have to be read for it alone.

    Raises:
        VerificationFailed: A path is a file in one distribution and a directory in another.
    """
    clashes = Clashes(_sum)
    for layer in plan.of(*WHEELS):
        for pin in filter(own.is_open, layer.packages):
            for entry in _content(own, pin):
                clashes.see(entry)
    return tuple(clashes.notes)


def _content(own: Ingredients, pin: PackagePin) -> Iterator[Entry]:
    wheel = own.wheel(pin)
    yield from brought(wheel, own.prefix)
    yield from scripts(wheel, own.prefix)


def _links(task: LayerTask) -> LayerRecord:
    own = task.ingredients
    paths = [path for pin in own.lock.group(PackageGroup.CUDA) for path in own.wheel(pin).contents]
    return task.write(wheel_links(paths, own.prefix.site, task.layer.links), Packing.COMPRESSED)


def _bytecode(task: LayerTask) -> LayerRecord:
    own = task.ingredients
    kept = KeptBytecode(plan=task.plan, store=own.store)
    pins = task.layer.compiled
    with kept.compiled(pins, lambda pin: brought(own.wheel(pin), own.prefix), partial(_compiled, task)) as compiled:
        return task.write(compiled, Packing.COMPRESSED)


def _compiled(task: LayerTask, entries: Sequence[Entry]) -> AbstractContextManager[Sequence[Entry]]:
    """Return the bytecode of some entries, for a `with` block; without a source, the interpreter is not unpacked."""
    own = task.ingredients
    return bytecode(entries, own.python(), own.work, task.jobs) if source_size(entries) else nullcontext(())


def _files(task: LayerTask) -> LayerRecord:
    """Return the own files; directories of the base and of the user stay as they are."""
    own = task.ingredients
    files = {entry.path: entry for entry in map(own.file, task.layer.files)}
    made = task.layer.folder.lstrip("/")
    above = {made, *parents(made), *(path for entry in files.values() for path in parents(entry.path))}
    below = [*(Entry(member=member) for member in own.base.members()), *account_entries(own.lock.user, b"", b"")]
    below += _made_folder(task, below)
    for entry in below:
        folders = (entry.path, *parents(entry.path)) if entry.member.kind is Kind.FOLDER else parents(entry.path)
        if taken := files.keys() & set(folders):
            raise VerificationFailed(
                f"/{min(taken)} is in `files:` and is a directory of the image",
                hint="choose another path in `files:` of envbuilder.yaml, then run `envbuilder lock`",
            )
    kept = (entry for entry in below if entry.path in above)
    return task.write([*kept, *files.values()], Packing.COMPRESSED)


def _made_folder(task: LayerTask, below: Iterable[Entry]) -> list[Entry]:
    """Return the directory of a layer, which belongs to the user; empty if it is in the image already.

    Raises:
        VerificationFailed: It is a file of the image, or below one.
    """
    path, user = task.layer.folder.lstrip("/"), task.ingredients.lock.user
    kinds = {entry.path: entry.member.kind for entry in below}
    for place in (path, *parents(path)):
        if kinds.get(place, Kind.FOLDER) is not Kind.FOLDER:
            raise VerificationFailed(
                f"/{place} in the base is not a directory, so that {task.layer.folder} cannot be the working directory",
                hint="choose another `workdir:` in envbuilder.yaml, then run `envbuilder lock`",
            )
    if not path or path in kinds or any(place.startswith(f"{path}/") for place in kinds):
        return []
    return [Entry(member=Member(path=path, kind=Kind.FOLDER, mode=0o755, mtime=EPOCH, uid=user.uid, gid=user.gid))]


def _image(task: LayerTask) -> LayerRecord:
    own = task.ingredients
    entries = [text(LOCK_FILE, own.lock_text.encode()), text(PROBE_FILE, own.probe())]
    if hook := own.hook():
        start = f"{own.prefix.site}/{START_NAME}"
        entries += [text(HOOK_FILE, hook), text(start, f"{START}\n".encode())]
    return task.write(entries, Packing.COMPRESSED)


_MAKERS: dict[LayerKind, Callable[[LayerTask], LayerRecord]] = {
    LayerKind.BASE: _base,
    LayerKind.SYSTEM: _system,
    LayerKind.INTERPRETER: _interpreter,
    LayerKind.LIBRARIES: _libraries,
    **dict.fromkeys(WHEELS, _wheels),
    LayerKind.LINKS: _links,
    LayerKind.BYTECODE: _bytecode,
    LayerKind.PROFILE: _added,
    LayerKind.OWN: _added,
    LayerKind.FILES: _files,
    LayerKind.IMAGE: _image,
}


def _sum(entry: Entry) -> int:
    return entry.spliced.crc if entry.spliced else zlib.crc32(entry.member.read())


class _Libraries:
    """Taps every library of a layer, one after the other: a tap keeps the end of its library in memory."""

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
