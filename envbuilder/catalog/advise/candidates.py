"""Candidates: every row with its patch releases, on each of its bases; their evidence and their commands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from packaging.version import Version

from envbuilder.catalog.advise.advice import Query
from envbuilder.catalog.environments import BaseChoice, Catalog, Environment, PythonProvider
from envbuilder.catalog.evidence import BuiltWithStandIns, Evidence, Grade, ProvenImage, RanOnCpu, RanOnGpu, Resolved
from envbuilder.core.versions import Release

DEPENDS_ON_KERAS = (2, 6)
"""First release of TensorFlow that requires standalone Keras; source: metadata of the wheels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One image that could be built.

    Attributes:
        row: The row, with the chosen patch release.
        own: The row as it stands in the catalog.
        choice: The base, with the chosen interpreter.
        place: Place of the base in the row's order of preference, from 0.
    """

    row: Environment
    own: Environment
    choice: BaseChoice
    place: int

    @property
    def is_own_release(self) -> bool:
        """True if the candidate has the row's own TensorFlow release."""
        return self.row.framework.version == self.own.framework.version

    @property
    def has_own_python(self) -> bool:
        """True if the candidate has the interpreter that the row has on this base."""
        return self.choice.python == self.own.bases[self.place].python


def candidates(catalog: Catalog, query: Query) -> Iterator[Candidate]:
    """Yield all candidates for a query.

    If a row's own release is in the requested range and supports the requested interpreter, it is the only one; else
    the row's other releases are yielded too.
    """
    for own in catalog.environments:
        if query.cpu and own.cuda is not None:
            continue
        for row in _releases(own, query):
            for place, choice in enumerate(row.bases):
                python = _python(row, choice, query.python)
                if python is not None:
                    yield Candidate(row=row, own=own, choice=replace(choice, python=python), place=place)


def _releases(own: Environment, query: Query) -> Iterator[Environment]:
    yield own
    is_asked = query.tensorflow is None or own.framework.version in query.tensorflow
    if is_asked and (query.python is None or query.python in own.pythons):
        return
    for other in own.framework.others:
        row = own.release(other.version)
        if row is not None and (query.tensorflow is None or other.version in query.tensorflow):
            yield row


def _python(row: Environment, choice: BaseChoice, asked: Release | None) -> Release | None:
    """Return the interpreter of the image; None if the release has no wheel for any interpreter of the base."""
    if choice.python_provider is PythonProvider.OS:
        return choice.python if choice.python in row.pythons else None
    if asked is not None and asked in row.pythons:
        return asked
    if asked is None and choice.python in row.pythons:
        return choice.python
    wish = asked or choice.python
    return min(row.pythons, key=lambda python: python_distance(wish, python), default=None)


def python_distance(one: Release | None, other: Release) -> int:
    """Return the distance of two interpreters in minor releases; 0 if none was requested."""
    if one is None:
        return 0
    (major, minor), (other_major, other_minor) = one.head(2), other.head(2)
    return abs(major - other_major) * 100 + abs(minor - other_minor)


def proven_on(row: Environment, choice: BaseChoice) -> Grade:
    """Return the strongest evidence for this base with this interpreter."""
    return max(
        (entry.grade for entry in row.evidence if _is_about(entry, choice)),
        key=lambda grade: grade.rank,
        default=Grade.DOCUMENTED,
    )


def _is_about(entry: Evidence, choice: BaseChoice) -> bool:
    match entry:
        case ProvenImage(base=base, python=python) | BuiltWithStandIns(base=base, python=python):
            return base == choice.system.id and _is_same(python, choice.python)
        case RanOnGpu(base=base):
            return base == choice.system.id
        case RanOnCpu(python=python):
            return _is_same(python, choice.python)
        case Resolved(bases=bases, python=python):
            return choice.system.id in bases and _is_same(python, choice.python)
        case _:
            return True


def _is_same(seen: str, python: Release) -> bool:
    return Release(seen).head(2) == python.head(2)


def steps(candidate: Candidate, keras: Version | None) -> tuple[str, ...]:
    """Return the commands in order; lines to write into a spec stand between them.

    Args:
        candidate: What to build.
        keras: Standalone Keras to install as well; None if none is needed, or if TensorFlow depends on it.
    """
    python = None if candidate.has_own_python else candidate.choice.python
    extra = None if keras is None or candidate.row.framework.version.release[:2] >= DEPENDS_ON_KERAS else keras
    if python is None and extra is None:
        return (_build(candidate),)
    lines = [
        f'tensorflow: "{candidate.row.framework.version}"' if not candidate.is_own_release else "",
        f'base: "{candidate.choice.system.id}"' if candidate.place else "",
        f'python: "{python}"' if python else "",
        f'packages: ["keras=={extra}"]' if extra else "",
    ]
    written = "; ".join(filter(None, lines))
    return (
        f"envbuilder init {candidate.own.id}",
        f"# in envbuilder.yaml: {written}",
        "envbuilder lock",
        f"envbuilder build{candidate.choice.build_options}",
    )


def _build(candidate: Candidate) -> str:
    words = ["envbuilder build", candidate.own.id]
    if not candidate.is_own_release:
        words.append(f"--tensorflow {candidate.row.framework.version}")
    if candidate.place:
        words.append(f"--base {candidate.choice.system.id}")
    return " ".join(words) + candidate.choice.build_options
