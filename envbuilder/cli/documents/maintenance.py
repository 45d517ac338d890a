"""Documents of `config`, `cache`, `base`, `python` and `catalog`."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from envbuilder.catalog.environments import BaseKind
from envbuilder.catalog.evidence import Grade
from envbuilder.cli.documents.environments import ShownEvidence, Unproven
from envbuilder.cli.documents.images import MissingResult


class ShownSetting(TypedDict):
    """A setting of this user; `value` is null where nothing is set and there is no default."""

    key: str
    variable: str
    value: str | bool | list[str] | None
    origin: str


class ShownOption(TypedDict):
    """An option of a command that is configured."""

    command: str
    option: str
    variable: str
    value: str
    origin: str


class ConfigShow(TypedDict):
    """`config show`: settings and configured options, each with its origin."""

    schema: Literal[1]
    file: str
    exists: bool
    settings: list[ShownSetting]
    options: list[ShownOption]
    unused_variables: list[str]


class KeptImage(TypedDict):
    """An assembled image of the cache."""

    name: str
    manifest: str
    lock: str
    bytes: int
    bytes_of_its_own: int


class KeptChanges(TypedDict):
    """Changes of an image that `run --keep` keeps."""

    name: str
    image: str
    manifest: str
    engine: str | None
    bytes: int


class CacheDirectory(TypedDict):
    """A directory of the cache."""

    name: str
    holds: str
    bytes: int


class CacheList(TypedDict):
    """`cache list`: assembled images, and the size of each part."""

    schema: Literal[1]
    folder: str
    images: list[KeptImage]
    kept_changes: list[KeptChanges]
    layer_bytes: int
    loose_layer_bytes: int
    download_bytes: int
    unpacked_bytes: int
    directories: list[CacheDirectory]
    bytes: int


class CachePrune(TypedDict):
    """`cache prune`: what was freed."""

    schema: Literal[1]
    freed_bytes: int
    in_use: list[str]


class CheckedPart(TypedDict):
    """A part of the cache that was checked."""

    holds: str
    count: int
    bytes: int


class DamagedFile(TypedDict):
    """A damaged file."""

    path: str
    reason: str
    removed: bool


class CacheVerify(TypedDict):
    """`cache verify`: damaged files of the cache."""

    schema: Literal[1]
    checked: list[CheckedPart]
    damaged: list[DamagedFile]
    unchecked: list[str]


class TreePackage(TypedDict):
    """A package of a tree."""

    name: str
    version: str


class BaseBootstrap(TypedDict):
    """`base bootstrap`: the tree that was made."""

    schema: Literal[1]
    id: str
    digest: str
    size: int
    packages: list[TreePackage]
    image: str | None
    pushed: str | None


class ListedBase(TypedDict):
    """A base of the catalog, with the digest of the tree that this machine has."""

    id: str
    kind: BaseKind
    image: str | None
    suite: str | None
    python: str
    glibc: str
    tree: str | None


class BaseList(TypedDict):
    """`base list`: the bases of the catalog."""

    schema: Literal[1]
    bases: list[ListedBase]


class PythonPack(TypedDict):
    """`python pack`: the interpreter archive that was made."""

    schema: Literal[1]
    file: str
    version: str
    sha256: str
    size: int
    glibc: str
    needs: list[str]
    missing: list[str]


class ListedArchive(TypedDict):
    """An interpreter archive of the cache."""

    file: str
    sha256: str


class PythonList(TypedDict):
    """`python list`: the interpreter archives of the cache."""

    schema: Literal[1]
    archives: list[ListedArchive]


class AuditDocument(TypedDict):
    """`catalog audit`: measurements of wheels, each beside what its environment claims."""

    schema: Literal[1]
    wheels: list[dict[str, object]]
    missing: NotRequired[list[MissingResult]]


class ProvenEnvironment(TypedDict):
    """An environment, and the evidence that it has now."""

    id: str
    proven: bool
    ran: bool
    evidence: list[ShownEvidence]
    unproven: list[Unproven]


class ProveDocument(TypedDict):
    """`catalog prove`: what was proven."""

    schema: Literal[1]
    tier: Grade | None
    environments: list[ProvenEnvironment]
    missing: NotRequired[list[MissingResult]]


class ProvenLibrary(TypedDict):
    """A library of a vendor archive."""

    soname: str
    sha256: str
    size: int
    recorded: bool


class ProvenArchive(TypedDict):
    """A vendor archive that was opened."""

    id: str
    opened: bool
    problems: list[str]
    libraries: list[ProvenLibrary]


class ProveArchives(TypedDict):
    """`catalog prove --tier archive`: vendor archives compared with the catalog."""

    schema: Literal[1]
    tier: Literal["archive"]
    archives: list[ProvenArchive]


class VanishedFile(TypedDict):
    """A file that the index no longer has."""

    name: str
    version: str
    file: str
    sha256: str
    python: str
    bases: list[str]
    replaced: bool


class EnvironmentFiles(TypedDict):
    """The files of an environment on the index."""

    id: str
    complete: bool
    files: int
    missing: list[VanishedFile]


class AvailabilityDocument(TypedDict):
    """`catalog availability`: whether the index still has all files."""

    schema: Literal[1]
    environments: list[EnvironmentFiles]
