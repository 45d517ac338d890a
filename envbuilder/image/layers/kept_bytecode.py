"""Bytecode of each wheel, kept so that a change of one package does not compile the others again.

It is kept as a layer in the format `tar` with the bytecode of that wheel alone, under the key of such a layer. So it is
verified, counted and pruned like other layers that no image needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.layers.bytecode import source_of, source_size
from envbuilder.image.layers.entries import Entry, completed
from envbuilder.image.layers.layer_writer import write_layer
from envbuilder.image.layers.records import LayerRecord, Records
from envbuilder.image.plan.keys import layer_key
from envbuilder.image.plan.plan import Layer, LayerKind, Plan
from envbuilder.lock.lock import PackagePin
from envbuilder.oci.images import LayerFormat
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import Kind, of_tar


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBytecode:
    """The bytecode of wheels in a store. Only what was compiled here is believed.

    Attributes:
        plan: Names the interpreter that compiles.
        store: Contains it.
    """

    plan: Plan
    store: Store

    @contextmanager
    def compiled(
        self,
        sources: Mapping[PackagePin, Sequence[Entry]],
        compile_all: Callable[[Sequence[Entry]], AbstractContextManager[Sequence[Entry]]],
    ) -> Iterator[Sequence[Entry]]:
        """Return the bytecode of wheels; wheels that were compiled before are not compiled again.

        Args:
            sources: Files of each wheel; of two wheels with the same file the later one is in the image.
            compile_all: Compiles the sources among some entries; the result can be read until its block ends.
        """
        owner = {entry.path: pin for pin, entries in sources.items() for entry in entries}
        known = {pin: found for pin in sources if (found := self._find(pin)) is not None}
        there = [each for pin, found in known.items() for each in found if owner.get(source_of(each.path)) == pin]
        missing = {pin: entries for pin, entries in sources.items() if pin not in known}
        given = [each for pin, entries in missing.items() for each in entries if owner[each.path] == pin]
        with compile_all(given) as compiled:
            # The layer of a single wheel is itself what would be kept.
            for pin, entries in missing.items() if len(sources) > 1 else ():
                if source_size(entries) and all(owner[each.path] == pin for each in entries):
                    self._keep(pin, [each for each in compiled if owner[source_of(each.path)] == pin])
            yield [*there, *compiled]

    def _find(self, pin: PackagePin) -> tuple[Entry, ...] | None:
        """Return the bytecode of a wheel; None if it was not compiled here, or is damaged."""
        record = Records(store=self.store).layer(self._key(pin))
        if record is None:
            return None
        with suppress(FileNotFoundError, VerificationFailed):
            members = of_tar(self.store.verified(record.packed.digest))
            return tuple(Entry(member=each) for each in members if each.kind is Kind.FILE)
        return None

    def _keep(self, pin: PackagePin, compiled: Sequence[Entry]) -> None:
        packed = write_layer(completed(compiled), self.store, LayerFormat.TAR)
        Records(store=self.store).keep_layer(self._key(pin), LayerRecord(packed=packed))

    def _key(self, pin: PackagePin) -> str:
        kind = LayerKind.BYTECODE
        alone = Layer(kind=kind, id=f"{kind}.{pin.name}", title=f"bytecode of {pin.name}", compiled=(pin,))
        return layer_key(self.plan, alone, LayerFormat.TAR)
