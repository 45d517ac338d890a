"""Output about environments: whether they can be built on this machine, and the catalogs of teams that have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from envbuilder.catalog.buildable import Buildability, Buildable
from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.cli.documents import environments as documents
from envbuilder.cli.output.printing import heading
from envbuilder.core.structure import document_of

_MOST_NAMES = 8
_MOST_REASONS = 3
_TITLES = {
    Buildability.UNKNOWN: "May not be buildable from here",
    Buildability.NO: "Cannot be built from here",
}


def buildable_document(answer: Buildable) -> dict[str, Any]:
    """Return an answer for `--json`."""
    return document_of(documents.Buildable, answer)


def buildable_notes(answers: Sequence[Buildable]) -> Iterator[str]:
    """Yield why environments are not, or perhaps not, buildable: each reason once, with all that it is true of.

    If there are more than a few reasons, `show` has them.
    """
    for verdict, title in _TITLES.items():
        names: dict[str, list[str]] = {}
        hints: dict[str, None] = {}
        for answer in answers:
            if answer.verdict is verdict:
                hints[answer.hint] = None
                for reason in answer.reasons:
                    names.setdefault(reason, []).append(answer.environment)
        if names:
            yield ""
            yield heading(title)
        if len(names) > _MOST_REASONS:
            every = [answer.environment for answer in answers if answer.verdict is verdict]
            yield f"  {_listed(every)}; `envbuilder show ENV` has the reasons"
            names = {}
        for reason, environments in names.items():
            yield f"  {reason}"
            yield f"      {_listed(environments)}"
        yield from (f"  next: {hint}" for hint in hints)


def _listed(names: Sequence[str]) -> str:
    """Return names; the first and the last one of many."""
    return ", ".join(names) if len(names) <= _MOST_NAMES else f"{len(names)} environments, {names[0]} to {names[-1]}"


def buildable_line(answer: Buildable) -> str:
    """Return an answer about one base as a line."""
    match answer.verdict:
        case Buildability.YES:
            return "can be built from here"
        case Buildability.UNKNOWN:
            return f"may not be buildable from here: {'; '.join(answer.reasons)}; {answer.hint}"
        case Buildability.NO:
            return f"cannot be built from here: {'; '.join(answer.reasons)}; {answer.hint}"


def catalog_document(catalog: Catalog, row: Environment) -> dict[str, Any] | None:
    """Return the catalog of a team that has an environment; None for that of envbuilder."""
    team = catalog.origin(row.id)
    if team is None:
        return None
    place = team.place
    return document_of(documents.TeamCatalog, team, directory=place.folder, address=place.address, commit=place.commit)


def catalog_notes(catalog: Catalog, rows: Iterable[Environment]) -> Iterator[str]:
    """Yield an empty line, and one for each catalog of a team with environments that are shown."""
    shown = [row.id for row in rows]
    used = {
        team.name: own for team in catalog.teams if (own := [name for name in shown if catalog.origin(name) is team])
    }
    if used:
        yield ""
    for team in catalog.teams:
        if team.name in used:
            yield f"From the catalog {team}: {', '.join(used[team.name])}"
