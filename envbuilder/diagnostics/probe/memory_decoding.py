"""The probe's JSON about the memory policy to facts."""

from __future__ import annotations

from envbuilder.diagnostics.facts.memory import MemoryFacts, ReceivedMemory
from envbuilder.diagnostics.probe.json_fields import Item


def memory_facts(item: Item) -> MemoryFacts:
    """The value of the fact `tensorflow-memory-policy`."""
    return MemoryFacts(
        variable=item["variable"].text(),
        hook=item["hook"].flag(),
        patched=tuple(entry.text() for entry in item["patched"].items()),
        force_growth=item["force_growth"].text(),
        allocator=item["allocator"].text(),
        received=item["received"].maybe(_received),
    )


def _received(item: Item) -> ReceivedMemory:
    return ReceivedMemory(
        gpus=item["gpus"].integer(),
        growth=item["growth"].flag(),
        fraction=item["fraction"].number() or 0.0,
        limits=tuple(entry.integer() for entry in item["limits"].items()),
    )
