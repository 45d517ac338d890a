"""Bytecode of each wheel, kept so that a change of one package neither opens nor compiles the others again.

It is kept as a tar in the store, recorded under a key of its own. So it is verified, counted and pruned like layers
that no image needs. The tar has the bytecode of the wheel alone, and an empty file in place of each source without any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass

from envbuilder.core.canonical_json import inputs_digest
from envbuilder.core.errors import VerificationFailed
from envbuilder.image.layers.bytecode import is_source, source_of
from envbuilder.image.layers.entries import Entry, completed, text
from envbuilder.image.layers.layer_writer import write_layer
from envbuilder.image.layers.records import LayerRecord, Records
from envbuilder.image.plan.keys import layer_key
from envbuilder.image.plan.plan import Layer, LayerKind, Plan
from envbuilder.lock.lock import PackagePin
from envbuilder.oci.images import LayerFormat
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import Kind, of_tar

_SOURCE = ".py"
_VERSION = 1
"""Version of the form in which bytecode is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What a wheel contributes to a layer of bytecode.

    Attributes:
        sources: Paths of all its sources, also of those without bytecode.
        bytecode: Its bytecode.
    """

    sources: tuple[str, ...]
    bytecode: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBytecode:
    """The bytecode of wheels in a store. Only what was compiled here is believed.

    Attributes:
        plan: Names the interpreter that compiles.
    """

    plan: Plan
    store: Store

    @contextmanager
    def compiled(
        self,
        pins: Sequence[PackagePin],
        files_of: Callable[[PackagePin], Iterable[Entry]],
        compile_all: Callable[[Sequence[Entry]], AbstractContextManager[Sequence[Entry]]],
    ) -> Iterator[Sequence[Entry]]:
        """Return the bytecode of wheels; wheels that were compiled before are neither opened nor compiled again.

        Args:
            pins: The wheels of a layer; of two wheels with the same file the later one is in the image.
            files_of: Opens a wheel and returns its files.
            compile_all: Compiles the sources among some entries; the result can be read until its block ends.
        """
        # The layer of a single wheel is itself what would be kept.
        is_kept = len(pins) > 1
        known = {pin: found for pin in pins if is_kept and (found := self._find(pin)) is not None}
        opened = {pin: tuple(files_of(pin)) for pin in pins if pin not in known}
        owner = {path: pin for pin in pins for path in (known[pin].sources if pin in known else _sources(opened[pin]))}
        there = [each for pin, kept in known.items() for each in kept.bytecode if owner[source_of(each.path)] == pin]
        given = [each for pin, files in opened.items() for each in files if owner.get(each.path) == pin]
        with compile_all(given) as compiled:
            made: dict[PackagePin, list[Entry]] = {pin: [] for pin in opened}
            for each in compiled:
                made[owner[source_of(each.path)]].append(each)
            for pin, files in opened.items() if is_kept else ():
                if all(owner[each.path] == pin for each in files if is_source(each)):
                    self._keep(pin, _sources(files), made[pin])
            yield [*there, *compiled]

    def _find(self, pin: PackagePin) -> _Kept | None:
        """Return what is kept of a wheel; None if it was not compiled here, or is damaged."""
        record = Records(store=self.store).layer(self._key(pin))
        if record is None:
            return None
        with suppress(FileNotFoundError, VerificationFailed):
            members = of_tar(self.store.verified(record.packed.digest))
            files = [Entry(member=each) for each in members if each.kind is Kind.FILE]
            bytecode = tuple(each for each in files if not each.path.endswith(_SOURCE))
            return _Kept(sources=(*_sources(files), *(source_of(each.path) for each in bytecode)), bytecode=bytecode)
        return None

    def _keep(self, pin: PackagePin, sources: Iterable[str], compiled: Sequence[Entry]) -> None:
        without = {*sources} - {source_of(each.path) for each in compiled}
        entries = completed([*compiled, *(text(path, b"") for path in sorted(without))])
        packed = write_layer(entries, self.store, LayerFormat.TAR)
        Records(store=self.store).keep_layer(self._key(pin), LayerRecord(packed=packed))

    def _key(self, pin: PackagePin) -> str:
        kind = LayerKind.BYTECODE
        alone = Layer(kind=kind, id=f"{kind}.{pin.name}", title=f"bytecode of {pin.name}", compiled=(pin,))
        return inputs_digest({"kept": _VERSION, "layer": layer_key(self.plan, alone, LayerFormat.TAR)})


def _sources(files: Iterable[Entry]) -> list[str]:
    """Return the paths of Python sources, also of empty ones, which have no bytecode."""
    return [each.path for each in files if each.path.endswith(_SOURCE)]
