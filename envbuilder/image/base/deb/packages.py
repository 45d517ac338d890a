"""The list of packages of a suite, parsed lazily."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from envbuilder.core.errors import VerificationFailed
from envbuilder.core.names import debian_file, debian_name, debian_version, sha256
from envbuilder.image.base.deb.distributions import DEBIAN
from envbuilder.image.base.deb.versions import newest

_NAME = re.compile(rb"^Package: ([!-~]+)$", re.MULTILINE)
_PROVIDES = re.compile(rb"^Provides: (.+)$", re.MULTILINE)
_ESSENTIAL = re.compile(rb"^Essential: yes$", re.MULTILINE)
_REQUIRED = {"Package", "Version", "Filename", "Size", "SHA256"}
_SIZE = re.compile(r"[0-9]{1,12}")
_SHOWN = 80
_PRIORITIES = ("required", "important", "standard", "optional", "extra")
_CLAUSE = re.compile(
    r"^(?P<name>[a-z0-9][a-z0-9+.-]*)(?::\w+)?\s*(?:\((?P<relation><<|<=|=|>=|>>)\s*(?P<version>[A-Za-z0-9.+~:-]{1,200})\s*\))?"
    r"\s*(?:\[[^\]]*\])?\s*$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationship:
    """One term of a field such as `Depends`: a package, perhaps with a bound on its version.

    Attributes:
        name: Package or virtual package.
        relation: `>=` or another operator; empty for any version.
        version: The bound.
    """

    name: str
    relation: str = ""
    version: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.relation} {self.version})" if self.relation else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package of an index.

    Attributes:
        depends: Its dependencies, each as alternatives in order of preference.
        provides: Virtual packages that it provides.
        conflicts: Packages that must not be installed with it.
        priority: `required` … `extra`.
        file: Path below the archive.
        size: Bytes.
        sha256: 64 hexadecimal digits.
    """

    name: str
    version: str
    depends: tuple[tuple[Relationship, ...], ...]
    provides: tuple[Relationship, ...]
    conflicts: tuple[Relationship, ...]
    priority: str
    file: str
    size: int
    sha256: str

    @property
    def rank(self) -> tuple[int, int, str]:
        """Sort key among packages that provide the same: priority, then the shortest name, then the name."""
        place = _PRIORITIES.index(self.priority) if self.priority in _PRIORITIES else len(_PRIORITIES)
        return (place, len(self.name), self.name)


class PackageIndex:
    """Several lists as one; of a package that is in more than one the newest version is used.

    Args:
        lists: Content of `Packages`, each with the prefix that its files get.
        missing: Suites whose lists should be among them, which the archive does not have.
        hint: What to do if a list is invalid.
    """

    def __init__(
        self,
        lists: Iterable[tuple[bytes, str]],
        *,
        missing: tuple[str, ...] = (),
        hint: str = DEBIAN.another_mirror,
    ) -> None:
        self.missing = missing
        self._hint = hint
        self._lists = tuple(lists)
        self._read: dict[str, Package | None] = {}

    def find(self, name: str) -> Package | None:
        """Return the newest package of this name; None if it does not exist.

        Raises:
            VerificationFailed: A field of a package of this name is not what Debian's grammar allows.
        """
        if name not in self._read:
            read = (self._package(number, start) for number, start in self._places.get(name, ()))
            found = [package for package in read if package]
            self._read[name] = max(found, key=lambda package: newest(package.version), default=None)
        return self._read[name]

    def providers(self, name: str) -> tuple[Package, ...]:
        """Return the packages that provide this virtual package, the preferred one first."""
        found = [package for each in self._provided.get(name, ()) if (package := self.find(each))]
        return tuple(
            sorted(
                (package for package in found if any(each.name == name for each in package.provides)),
                key=lambda package: package.rank,
            )
        )

    @cached_property
    def essential(self) -> tuple[str, ...]:
        """Names of the essential packages, sorted."""
        names = set()
        for number, (text, _) in enumerate(self._lists):
            for match in _ESSENTIAL.finditer(text):
                names.add(self._name_at(number, match.start()))
        return tuple(sorted(names))

    @cached_property
    def _starts(self) -> tuple[tuple[list[int], list[str]], ...]:
        listed = []
        for text, _ in self._lists:
            matches = list(_NAME.finditer(text))
            listed.append(([match.start() for match in matches], [match[1].decode("ascii") for match in matches]))
        return tuple(listed)

    @cached_property
    def _places(self) -> Mapping[str, list[tuple[int, int]]]:
        places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, (starts, names) in enumerate(self._starts):
            for start, name in zip(starts, names, strict=True):
                places[name].append((number, start))
        return places

    @cached_property
    def _provided(self) -> Mapping[str, set[str]]:
        provided: dict[str, set[str]] = defaultdict(set)
        for number, (text, _) in enumerate(self._lists):
            for match in _PROVIDES.finditer(text):
                name = self._name_at(number, match.start())
                for term in match[1].decode("utf-8", "replace").split(","):
                    provided[term.split("(")[0].split(":")[0].strip()].add(name)
        return provided

    def _name_at(self, number: int, place: int) -> str:
        starts, names = self._starts[number]
        before = bisect_right(starts, place)
        if not before:
            raise VerificationFailed(
                "the package list of the archive has a field before its first package",
                hint=self._hint,
            )
        return names[before - 1]

    def _package(self, number: int, start: int) -> Package | None:
        text, prefix = self._lists[number]
        end = text.find(b"\n\n", start)
        fields = dict(_fields(text[start : end if end > 0 else len(text)].decode("utf-8", "replace")))
        if not fields.keys() >= _REQUIRED:
            return None  # Some archives list packages that they do not hold.
        for name, validated in _GRAMMAR.items():
            try:
                validated(fields[name])
            except ValueError:
                raise VerificationFailed(
                    f"the package list of the archive has a package {fields['Package'][:_SHOWN]!r} "
                    f"whose {name} is {fields[name][:_SHOWN]!r}",
                    hint=self._hint,
                ) from None
        return Package(
            name=fields["Package"],
            version=fields["Version"],
            depends=(*clauses(fields.get("Pre-Depends", "")), *clauses(fields.get("Depends", ""))),
            provides=tuple(each[0] for each in clauses(fields.get("Provides", ""))),
            conflicts=tuple(each[0] for name in ("Conflicts", "Breaks") for each in clauses(fields.get(name, ""))),
            priority=fields.get("Priority", "optional"),
            file=f"{prefix}{fields['Filename']}",
            size=int(fields["Size"]),
            sha256=fields["SHA256"],
        )


def clauses(text: str) -> tuple[tuple[Relationship, ...], ...]:
    """Parse a field such as `Depends` into clauses, each with its alternatives.

    Example:
        >>> [[str(each) for each in clause] for clause in clauses("a (>= 1) | b, c:any")]
        [['a (>= 1)', 'b'], ['c']]
    """
    found = []
    for clause in filter(None, (part.strip() for part in text.split(","))):
        matches = (_CLAUSE.match(part.strip()) for part in clause.split("|"))
        alternatives = tuple(
            Relationship(name=match["name"], relation=match["relation"] or "", version=match["version"] or "")
            for match in matches
            if match
        )
        if alternatives:
            found.append(alternatives)
    return tuple(found)


def _fields(paragraph: str) -> Iterator[tuple[str, str]]:
    for line in paragraph.splitlines():
        name, colon, value = line.partition(":")
        if colon and not name.startswith((" ", "\t")):
            yield name, value.strip()


def _size(text: str) -> str:
    if not _SIZE.fullmatch(text):
        raise ValueError(text)
    return text


_GRAMMAR: Mapping[str, Callable[[str], str]] = {
    "Package": debian_name,
    "Version": debian_version,
    "Filename": debian_file,
    "Size": _size,
    "SHA256": sha256,
}
