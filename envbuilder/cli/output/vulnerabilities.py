"""Result of `scan` as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from envbuilder.cli.documents import images as documents
from envbuilder.cli.output.printing import folded, heading, paragraph, shell_lines, width
from envbuilder.core.structure import document_of
from envbuilder.diagnostics.vulnerabilities.components import Component
from envbuilder.diagnostics.vulnerabilities.fixes import Fix, Fixable, NoFix, OutOfBounds
from envbuilder.diagnostics.vulnerabilities.rating import Rating
from envbuilder.diagnostics.vulnerabilities.scan import Scan, Vulnerability
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest

_RATING_WIDTH = max(len(rating.value) for rating in Rating)


def lines(lock: Lock, found: Scan, fails: Sequence[Vulnerability]) -> Iterator[str]:
    """Yield the lines of a result, folded at the width of the terminal.

    `fails` are those that decide the exit status.
    """
    for component, group in groupby(_by_component(found.vulnerabilities), key=lambda each: each.component):
        yield heading(_title(component))
        for fix, same in groupby(group, key=lambda each: each.fix):
            yield from _vulnerabilities(fix, list(same))
        yield ""
    if found.unread:
        yield heading("Documents that could not be read")
        yield from (folded(f"  {each.document}: {each.problem}") for each in found.unread)
        yield ""
    if found.left_out:
        yield heading("Not compared")
        yield from (folded(f"  {each}") for each in found.left_out)
        yield ""
    yield from map(folded, _summary(lock, found, fails))


def _by_component(found: Sequence[Vulnerability]) -> list[Vulnerability]:
    """Return vulnerabilities by component, the most vulnerable first; those with the same fix follow each other."""
    worst: dict[Component, int] = {}
    fixes: dict[tuple[Component, Fix], int] = {}
    for place, each in enumerate(found):
        worst.setdefault(each.component, place)
        fixes.setdefault((each.component, each.fix), place)
    return sorted(found, key=lambda each: (worst[each.component], fixes[each.component, each.fix]))


def _title(component: Component) -> str:
    others = [name for name in component.packages if name != component.name]
    return f"{component.name} {component.version}" + (f" ({', '.join(component.packages)})" if others else "")


def _vulnerabilities(fix: Fix, group: Sequence[Vulnerability]) -> Iterator[str]:
    indent = " " * (_RATING_WIDTH + 4)
    for each in group:
        yield folded(f"  {each.rating.value:<{_RATING_WIDTH}}  {', '.join((each.id, *each.aliases))}")
        if each.summary:
            yield paragraph(f"{indent}{each.summary}", width())
    versions = ", ".join(dict.fromkeys(each.fixed for each in group))
    match fix:
        case Fixable(remedy=remedy):
            yield folded(f"  fixed in {versions}")
            yield folded(f"  → {remedy.text}")
            for line in remedy.command.splitlines():
                yield from shell_lines(line, width(), first="      ")
        case OutOfBounds(reason=reason):
            yield folded(f"  fixed in {versions}, but not within this environment: {reason}")
        case NoFix():
            yield "  no fixed version is known"


def _summary(lock: Lock, found: Scan, fails: Sequence[Vulnerability]) -> Iterator[str]:
    compared = " and ".join(f"{count} of {ecosystem}" for ecosystem, count in found.components)
    yield f"{lock.environment}: compared {compared}"
    for used in found.databases:
        newest = f", the newest of {used.newest}" if used.newest else ""
        yield f"  with {used.documents} documents of {used.name}{newest}"
    if found.withdrawn:
        yield f"  ignored: {found.withdrawn} withdrawn"
    if not found.vulnerabilities:
        yield "no known vulnerability"
        return
    ratings = Counter(each.rating for each in found.vulnerabilities)
    counts = ", ".join(f"{ratings[rating]} {rating.value}" for rating in Rating if ratings[rating])
    fixable = sum(isinstance(each.fix, Fixable) for each in found.vulnerabilities)
    noun = "vulnerability" if len(found.vulnerabilities) == 1 else "vulnerabilities"
    yield f"{len(found.vulnerabilities)} known {noun}: {counts}; {fixable} can be fixed within this environment"
    yield f"{len(fails)} of them count{'s' if len(fails) == 1 else ''} for the exit status"


def document(lock: Lock, found: Scan, fails: Sequence[Vulnerability]) -> dict[str, Any]:
    """Return a result as a JSON document; arguments as for `lines`."""
    return document_of(
        documents.ScanDocument,
        found,
        environment=lock.environment,
        lock=digest(lock),
        compared=found.components,
        vulnerabilities=[_one(each, fails=each in fails) for each in found.vulnerabilities],
        not_compared=found.left_out,
    )


def _one(each: Vulnerability, *, fails: bool) -> dict[str, Any]:
    component = each.component
    return document_of(
        documents.Vulnerability,
        each,
        ecosystem=component.ecosystem,
        name=component.name,
        version=component.version,
        packages=component.packages,
        severity=each.rating,
        fails=fails,
        **_fix(each.fix),
    )


def _fix(fix: Fix) -> dict[str, object]:
    match fix:
        case Fixable(remedy=remedy):
            return {"fix": "possible", "reason": None, "remedy": remedy.text, "command": remedy.command or None}
        case OutOfBounds(reason=reason):
            return {"fix": "not-within-environment", "reason": reason, "remedy": None, "command": None}
        case NoFix():
            return {"fix": "none", "reason": None, "remedy": None, "command": None}
