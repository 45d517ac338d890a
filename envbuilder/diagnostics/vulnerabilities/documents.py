"""Documents of the OSV schema: one vulnerability, and the versions of the packages that have it.

Source: https://ossf.github.io/osv-schema/ (1.7), read 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from packaging.utils import canonicalize_version
from packaging.version import InvalidVersion, Version

from envbuilder.core.field_rules import Inside, Parsed
from envbuilder.core.json_fields import text
from envbuilder.core.structure import load
from envbuilder.diagnostics.vulnerabilities.rating import Rating, base_score, rating_of_score, rating_of_word
from envbuilder.image.base.deb.versions import newest

PYPI = "PyPI"
_BEGINNING = "0"
"""Version of the event `introduced` that is before every other."""


def _rating_in(value: object) -> Rating:
    """Return the rating in the own fields of a database: `severity` of GitHub, `urgency` of Debian."""
    return rating_of_word(text(value, "severity") or text(value, "urgency"))


def _stated_rating(score: str) -> Rating:
    """Return the rating of a severity, a CVSS vector or a word; `unknown` for vectors of CVSS 2 and 4."""
    number = base_score(score)
    return rating_of_word(score) if number is None else rating_of_score(number)


_OwnRating = Annotated[Rating, Parsed(_rating_in, of=object)]
_StatedRating = Annotated[Rating, Parsed(_stated_rating), Inside("score")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A version at which a range begins or ends; one field is not empty, none for an event of another type."""

    introduced: str = ""
    fixed: str = ""
    last_affected: str = ""

    @property
    def version(self) -> str:
        """The version."""
        return self.introduced or self.fixed or self.last_affected


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Ranges of versions, as events.

    Attributes:
        type: `ECOSYSTEM`, `SEMVER` or `GIT`; the events of the last are commits.
        events: In any order.
    """

    type: str
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPackage:
    """A package.

    Attributes:
        ecosystem: Such as `PyPI`, `Debian:12` or `Ubuntu:20.04:LTS`.
        name: Distribution of Python, or source package of a distribution.
    """

    ecosystem: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Affected:
    """The affected versions of one package.

    Attributes:
        package: The package; None for one that is named by its repository only.
        ecosystem_specific: Rating in the fields of the ecosystem.
        database_specific: Rating in the fields of the database.
    """

    package: NamedPackage | None = None
    ranges: tuple[Range, ...] = ()
    versions: tuple[str, ...] = ()
    severity: tuple[_StatedRating, ...] = ()
    ecosystem_specific: _OwnRating = Rating.UNKNOWN
    database_specific: _OwnRating = Rating.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class OsvDocument:
    """One vulnerability in one database.

    Attributes:
        id: Such as `GHSA-…`, `PYSEC-…`, `CVE-…` or `DEBIAN-CVE-…`.
        withdrawn: When it was withdrawn; empty if it is valid.
        aliases: Ids of the same vulnerability in other databases.
        upstream: Ids of vulnerabilities that a document of a distribution is about.
        summary: One line.
        database_specific: Rating in the fields of the database.
    """

    id: str
    withdrawn: str = ""
    aliases: tuple[str, ...] = ()
    upstream: tuple[str, ...] = ()
    summary: str = ""
    affected: tuple[Affected, ...] = ()
    severity: tuple[_StatedRating, ...] = ()
    database_specific: _OwnRating = Rating.UNKNOWN

    @property
    def names(self) -> tuple[str, ...]:
        """All its ids. A security notice of a distribution about several vulnerabilities is an alias of none."""
        return (self.id, *self.aliases, *(self.upstream if len(self.upstream) == 1 else ()))

    def rating(self, affected: Affected) -> Rating:
        """Return the severity for one of its packages: by a CVSS 3 vector, else by a word, the most specific first."""
        stated = (*affected.severity, *self.severity)
        own = (affected.ecosystem_specific, affected.database_specific, self.database_specific)
        return next((rating for rating in (*stated, *own) if rating is not Rating.UNKNOWN), Rating.UNKNOWN)


def read_document(value: object) -> OsvDocument:
    """Return an OSV document.

    Raises:
        Mismatched: It does not follow the schema.
    """
    return load(OsvDocument, value)


def next_fix(affected: Affected, version: str) -> str | None:
    """Return the next version of an affected package that is not; empty if none is named, None if it is not affected.

    Source: https://ossf.github.io/osv-schema/#evaluation

    Raises:
        ValueError: A range has a version that cannot be compared.

    Example:
        >>> six = NamedPackage(ecosystem="PyPI", name="six")
        >>> fixed = Range(type="ECOSYSTEM", events=(Event(introduced="0"), Event(fixed="1.10")))
        >>> next_fix(Affected(package=six, ranges=(fixed,)), "1.9")
        '1.10'
    """
    is_python = affected.package is not None and affected.package.ecosystem == PYPI
    key = order(is_python=is_python)
    mine = key(version)
    ends = [_fix_in(each, mine, key) for each in affected.ranges if each.type != "GIT"]
    found = [end for end in ends if end is not None]
    if found:
        return max(found, key=lambda end: key(end or _BEGINNING))
    listed = {canonicalize_version(each) for each in affected.versions} if is_python else set(affected.versions)
    return "" if (canonicalize_version(version) if is_python else version) in listed else None


def order(*, is_python: bool) -> Callable[[str], Any]:
    """Return the key function that sorts versions: PEP 440, or Debian's."""
    return _python_version if is_python else newest


def _python_version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        raise ValueError(f"{text[:80]!r} is not a version of PEP 440") from None


def _fix_in(within: Range, mine: Any, key: Callable[[str], Any]) -> str | None:  # noqa: ANN401  a key of `order`
    """Return the next fixed version; empty if there is none, None if the version is not in the range."""
    begun = [event for event in within.events if event.version]
    begun.sort(key=lambda event: (event.introduced != _BEGINNING, key(event.version)))
    inside = False
    for event in begun:
        if event.introduced:
            inside = inside or event.introduced == _BEGINNING or key(event.introduced) <= mine
        elif event.fixed:
            if key(event.fixed) > mine:
                return event.fixed if inside else None
            inside = False
        elif key(event.last_affected) < mine:
            inside = False
        elif inside:
            return ""
    return "" if inside else None
