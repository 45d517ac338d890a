"""Compare the packages of a lock with vulnerability databases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from envbuilder.catalog.environments import Catalog
from envbuilder.core.errors import UsageError
from envbuilder.core.json_fields import records, text
from envbuilder.core.json_input import BadJson, load_object
from envbuilder.core.references import normalized
from envbuilder.diagnostics.vulnerabilities.components import Component, inventory, left_out
from envbuilder.diagnostics.vulnerabilities.database import Database
from envbuilder.diagnostics.vulnerabilities.documents import PYPI, OsvDocument, next_fix, order, read_document
from envbuilder.diagnostics.vulnerabilities.fixes import Fix, Fixable, fix_of
from envbuilder.diagnostics.vulnerabilities.rating import Rating
from envbuilder.lock.lock import Lock

_PREFERRED = ("CVE-", "GHSA-", "PYSEC-")
"""Kinds of ids, the best known first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vulnerability:
    """A vulnerability of a component, from all documents about it.

    Attributes:
        id: Its best-known id.
        aliases: Its other ids, sorted.
        summary: One line; may be empty.
        rating: Severity; the worst if documents differ.
        fixed: The next version that all documents call fixed; empty if none names one.
        fix: Whether the environment can have that version.
    """

    id: str
    aliases: tuple[str, ...]
    component: Component
    summary: str
    rating: Rating
    fixed: str
    fix: Fix


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseUse:
    """The contribution of a database to a scan.

    Attributes:
        name: As the user named it.
        documents: Number of its documents.
        newest: Day of the newest change of a document; empty if none states it.
    """

    name: str
    documents: int
    newest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A document that could not be used.

    Attributes:
        document: Database and name.
    """

    document: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """Result of a comparison.

    Attributes:
        components: Number of compared components by ecosystem, sorted.
        vulnerabilities: The worst first, then by component and id.
        databases: In the order of the command line.
        withdrawn: Number of documents about these packages that were withdrawn, and ignored.
        unread: Documents that could not be used; a vulnerability may be in them.
        left_out: What was not compared, each with the reason.
    """

    components: tuple[tuple[str, int], ...]
    vulnerabilities: tuple[Vulnerability, ...]
    databases: tuple[DatabaseUse, ...]
    withdrawn: int
    unread: tuple[Unread, ...]
    left_out: tuple[str, ...]


def scan(lock: Lock, catalog: Catalog, databases: Iterable[Database]) -> Scan:
    """Return the known vulnerabilities of the packages of a lock.

    Args:
        lock: The lock.
        catalog: Bounds of its environment.
        databases: Read one document at a time; if an id is there several times, the first document counts.

    Raises:
        UsageError: A database does not exist, or none has a document for an ecosystem of the lock.
        InvalidInput: A zip file is damaged.
    """
    components = inventory(lock)
    search = _Search(components)
    used = tuple(search.read(database) for database in databases)
    known = Counter(each.ecosystem for each in components)
    absent = {ecosystem for ecosystem in known if not any(_is_part(ecosystem, each) for each in search.ecosystems)}
    if absent == set(known):
        raise UsageError(
            f"the databases have no document for {' or '.join(sorted(known)) or 'any package of the lock'}",
            hint="specify databases of these ecosystems: https://google.github.io/osv.dev/data/",
        )
    missing = tuple(f"{each} ({known[each]}): the databases have no document for it" for each in sorted(absent))
    return Scan(
        components=tuple(sorted((each, count) for each, count in known.items() if each not in absent)),
        vulnerabilities=tuple(_vulnerabilities(search.matches, lock, catalog)),
        databases=used,
        withdrawn=search.withdrawn,
        unread=tuple(search.unread),
        left_out=(*missing, *left_out(lock)),
    )


def failing(found: Scan, least: Rating | None, *, only_fixable: bool) -> tuple[Vulnerability, ...]:
    """Return the vulnerabilities of a severity, or worse; none for None. An unknown severity may be any, and counts."""
    return tuple(
        each
        for each in found.vulnerabilities
        if least
        and (each.rating is Rating.UNKNOWN or each.rating.rank <= least.rank)
        and (isinstance(each.fix, Fixable) or not only_fixable)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Match:
    document: OsvDocument
    rating: Rating
    fixed: str


@dataclass(slots=True)
class _Search:
    """Documents about some components, while databases are read."""

    components: tuple[Component, ...]
    matches: dict[Component, list[_Match]] = field(default_factory=dict)
    ecosystems: set[str] = field(default_factory=set)
    unread: list[Unread] = field(default_factory=list)
    withdrawn: int = 0
    _by_name: dict[str, list[Component]] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for component in self.components:
            self._by_name.setdefault(component.name, []).append(component)

    def read(self, database: Database) -> DatabaseUse:
        """Find the components in every document of a database."""
        count, newest = 0, ""
        for name, content in database.documents():
            count += 1
            try:
                if isinstance(content, OSError):
                    raise BadJson(content.strerror or str(content))
                found = load_object(content)
                newest = max(newest, text(found, "modified")[:10])
                self._compare(found)
            except ValueError as error:
                self.unread.append(Unread(document=f"{database.name}: {name}", problem=str(error)))
        return DatabaseUse(name=database.name, documents=count, newest=newest)

    def _compare(self, found: Mapping[str, object]) -> None:
        if not text(found, "id"):
            raise BadJson("it has no id, as every document of the OSV schema has")
        if not isinstance(found.get("affected", []), list):
            raise BadJson("affected: must be a list")
        concerned = list(self._concerned(found))
        if not concerned:
            return
        document = read_document(found)
        if document.id in self._seen:
            return
        self._seen.add(document.id)
        if document.withdrawn:
            self.withdrawn += 1
            return
        for component in dict.fromkeys(concerned):
            self._match(component, document)

    def _concerned(self, found: Mapping[str, object]) -> Iterator[Component]:
        """Yield the components that a document is about; only such a document is read as a whole."""
        for affected in records(found, "affected"):
            ecosystem, name = text(affected, "package", "ecosystem"), text(affected, "package", "name")
            self.ecosystems.add(ecosystem)
            for component in self._by_name.get(_name(ecosystem, name), ()):
                if _is_part(component.ecosystem, ecosystem):
                    yield component

    def _match(self, component: Component, document: OsvDocument) -> None:
        for affected in document.affected:
            package = affected.package
            if package is None or not _is_part(component.ecosystem, package.ecosystem):
                continue
            if _name(package.ecosystem, package.name) != component.name:
                continue
            fixed = next_fix(affected, component.version)
            if fixed is not None:
                match = _Match(document=document, rating=document.rating(affected), fixed=fixed)
                self.matches.setdefault(component, []).append(match)


def _name(ecosystem: str, name: str) -> str:
    return normalized(name) if ecosystem == PYPI else name


def _is_part(ecosystem: str, named: str) -> bool:
    """Return True if a name of an ecosystem includes a release: `Debian`, `Debian:12` and `Ubuntu:20.04` do.

    Example:
        >>> _is_part("Ubuntu:20.04:LTS", "Ubuntu:20.04"), _is_part("Debian:12", "Debian:1")
        (True, False)
    """
    return ecosystem == named or ecosystem.startswith(f"{named}:")


def _vulnerabilities(
    matches: Mapping[Component, list[_Match]], lock: Lock, catalog: Catalog
) -> Iterator[Vulnerability]:
    found = [
        _vulnerability(component, group, lock, catalog)
        for component, each in matches.items()
        for group in _joined(each)
    ]
    yield from sorted(found, key=lambda each: (each.rating.rank, each.component.name, each.id))


def _joined(matches: Iterable[_Match]) -> list[list[_Match]]:
    """Return the documents about the same vulnerability together: those that share an id."""
    places: dict[str, list[_Match]] = {}
    for match in matches:
        group = [match]
        for other in {id(places[name]): places[name] for name in match.document.names if name in places}.values():
            group += other
        for each in group:
            places.update(dict.fromkeys(each.document.names, group))
    return list({id(group): group for group in places.values()}.values())


def _vulnerability(component: Component, group: list[_Match], lock: Lock, catalog: Catalog) -> Vulnerability:
    ids = sorted({name for match in group for name in match.document.names}, key=_familiarity)
    fixed = max((match.fixed for match in group if match.fixed), key=order(is_python=component.is_python), default="")
    summaries = (match.document.summary for match in sorted(group, key=lambda match: _familiarity(match.document.id)))
    return Vulnerability(
        id=ids[0],
        aliases=tuple(ids[1:]),
        component=component,
        summary=" ".join(next((each for each in summaries if each), "").split()),
        rating=min((match.rating for match in group), key=lambda rating: rating.rank),
        fixed=fixed,
        fix=fix_of(component, fixed, lock, catalog),
    )


def _familiarity(name: str) -> tuple[int, str]:
    kind = next((place for place, prefix in enumerate(_PREFERRED) if name.startswith(prefix)), len(_PREFERRED))
    return kind, name
