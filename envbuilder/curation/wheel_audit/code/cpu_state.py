"""Known values of registers and memory at one point of a function: numbers, and offsets from unknown addresses."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from envbuilder.curation.wheel_audit.code.instructions import MemoryOperand, Register

_WORD = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Value:
    """A number, or an address at a known offset from an unknown one.

    Attributes:
        origin: 0 for numbers (including addresses in the file); else the id of an unknown value.
        offset: The number, or the offset.
    """

    origin: int
    offset: int

    @property
    def number(self) -> int | None:
        """The number, from 0 to 2**64 - 1; None if unknown."""
        return self.offset & _WORD if self.origin == 0 else None

    def moved(self, distance: int) -> Value:
        """Return the address that far behind this one."""
        return Value(self.origin, self.offset + distance)


class CpuState:
    """The known values of registers and memory before one instruction."""

    def __init__(self) -> None:
        self._marks = count(1)
        self.forget()

    def forget(self) -> None:
        """Forget all values."""
        self._registers = [self.unknown() for _ in range(16)]
        self._bytes: dict[Value, int] = {}
        self._words: dict[Value, Value] = {}

    def unknown(self) -> Value:
        """Return a new unknown value, different from all others."""
        return Value(next(self._marks), 0)

    def register(self, register: Register) -> Value:
        """Return the value of a register."""
        return self._registers[register]

    def load(self, place: Value, size: int) -> Value:
        """Return the value in memory, if this function wrote it; the content of the file is not used."""
        if size == 8 and place in self._words:
            return self._words[place]
        known = self.octets(place, size)
        return self.unknown() if known is None else Value(0, int.from_bytes(known, "little"))

    def octets(self, place: Value, size: int) -> bytes | None:
        """Return bytes that this function wrote; None unless all are known."""
        found = [self._bytes.get(place.moved(each)) for each in range(size)]
        known = bytes(each for each in found if each is not None)
        return known if len(known) == size else None

    def address(self, memory: MemoryOperand, end: int) -> Value:
        """Return the address of an operand.

        Args:
            memory: The operand.
            end: Address of the next instruction.
        """
        if memory.computed:
            return self.unknown()
        if memory.base is None:
            return Value(0, memory.displacement + (end if memory.relative else 0))
        return self._registers[memory.base].moved(memory.displacement)

    def store(self, place: Value, size: int, value: Value | None) -> None:
        """Write to memory; None writes something unknown."""
        for each in range(-7, size) if self._words else ():
            self._words.pop(place.moved(each), None)
        for each in range(size) if self._bytes else ():
            self._bytes.pop(place.moved(each), None)
        if value is None:
            return
        if value.number is None and size == 8:
            self._words[place] = value
        if value.number is not None:
            octets = value.number.to_bytes(8, "little")[:size]
            self._bytes.update({place.moved(each): octet for each, octet in enumerate(octets)})

    def set(self, register: Register, value: Value | None) -> None:
        """Write to a register; None writes something unknown."""
        self._registers[register] = self.unknown() if value is None else value

    def clear_memory(self) -> None:
        """Forget the memory after a write to an unknown address."""
        self._bytes.clear()
        self._words.clear()
