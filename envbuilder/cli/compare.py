"""`envbuilder compare A B`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from envbuilder.catalog.selection import meant
from envbuilder.cli.documents import machines as documents
from envbuilder.cli.output.printing import folded, heading, json_option, print_json, width
from envbuilder.cli.session import command_session
from envbuilder.core.errors import EngineUnavailable, UsageError
from envbuilder.core.files import read_text
from envbuilder.core.structure import document_of
from envbuilder.diagnostics.compare.compare import compare
from envbuilder.diagnostics.compare.comparison import AppliesTo, Comparison, Difference, Effect, SystemKind
from envbuilder.diagnostics.compare.systems import system_of
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.probe.decoding import decode
from envbuilder.image.embedded_lock import lock_inside
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import load
from envbuilder.wiring.locks import known_lock
from envbuilder.wiring.session import Session


@click.command("compare")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--fails", type=click.Choice(["a", "b"], case_sensitive=False), help="Side on which the run fails.")
@json_option
def command(a: str, b: str, fails: str | None, *, as_json: bool) -> None:
    """Compare two machines, locks, environments or images, and show the effect of each difference on TensorFlow.

    A and B are facts files (`doctor -o`, `probe.py`), locks, environments, or images that contain their lock. The last
    lines explain why one side could run out of GPU memory; with --fails, for that side only.
    """
    session = command_session(a, b)
    found = compare(session.catalog, *(system_of(name, _content(session, name)) for name in (a, b)))
    if as_json:
        print_json(_document(found))
        return
    failing = (AppliesTo(fails.upper()),) if fails else (AppliesTo.A, AppliesTo.B)
    for line in _lines(found, failing):
        click.echo(folded(line) if len(click.unstyle(line)) > width() else line)


def _content(session: Session, name: str) -> Facts | Lock:
    path = Path(name)
    if path.is_file():
        text = read_text(path)
        return decode(text, name) if text.lstrip().startswith("{") else load(text, name)
    if path.is_dir() or meant(session.catalog, name):
        return known_lock(session, name, Sources())[0]
    try:
        if session.engine.image(name) is not None:
            return lock_inside(session.engine, name)
    except EngineUnavailable:
        pass
    raise UsageError(
        f"{name} is not a file, an environment, or an image of the engine",
        hint="`envbuilder doctor -o FACTS` writes a facts file",
    )


def _lines(found: Comparison, failing: tuple[AppliesTo, ...]) -> Iterator[str]:
    yield f"A  {found.a.name} ({found.a.kind.value})"
    yield f"B  {found.b.name} ({found.b.kind.value})"
    if not found.differences:
        yield ""
        yield heading("No difference in what is known of both.")
    for difference in found.differences:
        yield ""
        yield from _difference(difference)
    yield from _unknown(found)
    if found.same:
        yield ""
        yield f"The same: {', '.join(found.same)}"
    yield ""
    yield from _out_of_memory(found, failing)


def _difference(difference: Difference) -> Iterator[str]:
    yield heading(difference.topic)
    yield f"  A  {difference.a}"
    yield f"  B  {difference.b}"
    for effect in difference.effects:
        where = "" if effect.applies_to is AppliesTo.BOTH else f"on {effect.applies_to.value}: "
        yield f"     {where}{effect.text}"


def _unknown(found: Comparison) -> Iterator[str]:
    for name, missing in (
        ("A", [each.topic for each in found.unknown if not each.a]),
        ("B", [each.topic for each in found.unknown if not each.b]),
    ):
        if missing:
            yield ""
            yield f"Not known on {name}: {', '.join(missing)}"


def _out_of_memory(found: Comparison, failing: tuple[AppliesTo, ...]) -> Iterator[str]:
    for which in failing:
        system = found.a if which is AppliesTo.A else found.b
        causes = [effect for effect in found.out_of_memory if effect.applies_to is which]
        if causes:
            yield heading(f"Possible causes of an out-of-memory error on {which.value} ({system.name}) alone")
            yield from (f"  - {effect.text}" for effect in causes)
        else:
            yield heading(f"No difference explains an out-of-memory error on {which.value} ({system.name}) alone")
            yield "  Diagnose its log: `envbuilder diagnose LOG`; `nvidia-smi` lists the processes that hold memory."
            if system.kind is SystemKind.FACTS:
                yield f"  Environments that run there: `envbuilder list --fits {system.name}`"


def _document(found: Comparison) -> dict[str, Any]:
    return document_of(
        documents.CompareDocument,
        found,
        differences=[
            document_of(documents.Difference, each, effects=_effects(each.effects)) for each in found.differences
        ],
        out_of_memory=_effects(found.out_of_memory),
    )


def _effects(effects: Sequence[Effect]) -> list[dict[str, Any]]:
    return [document_of(documents.Effect, effect, on=effect.applies_to) for effect in effects]
