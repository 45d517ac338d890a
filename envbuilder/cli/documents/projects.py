"""Documents of `adopt`, `lock`, `diff`, `plan` and `render`."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from envbuilder.cli.documents.machines import Fault
from envbuilder.image.plan.plan import LayerKind
from envbuilder.lock.project.clues import ClueKind, WarningKind
from envbuilder.lock.project.conclusions import Device


class FieldChange(TypedDict):
    """A field that differs; null where it is absent."""

    field: str
    old: str | None
    new: str | None


class WrittenLock(TypedDict):
    """A lock that was written."""

    lock: str
    digest: str
    manifest: str | None
    base: str
    unpinned: list[str]
    python: str
    packages: int
    refused: list[str]
    deviations: list[str]


class LockDocument(WrittenLock):
    """`lock`: the lock that was written."""

    schema: Literal[1]
    changes: list[FieldChange]


class LockCheck(TypedDict):
    """`lock --check`: whether a lock is out of date."""

    schema: Literal[1]
    lock: str
    stale: bool
    changes: list[FieldChange]


class LockDifferences(TypedDict):
    """`diff`: the differences of two locks."""

    schema: Literal[1]
    changes: list[FieldChange]


class Clue(TypedDict):
    """A conclusion from a line of a project about its environment."""

    kind: ClueKind
    value: str
    file: str
    line: int
    confidence: str


class GivenUp(Clue):
    """A clue that could not be followed, and what was taken instead."""

    instead: str


class AdoptionWarning(TypedDict):
    """A doubt whether the project works in its environment; `line` is 0 for a file as a whole."""

    kind: WarningKind
    text: str
    file: str | None
    line: int | None


class NearEnvironment(TypedDict):
    """An environment that does not fit, and what would have to change."""

    environment: str
    changes: list[str]


class PackageChange(TypedDict):
    """A requirement that was changed."""

    before: str
    after: str | None
    reason: str


class OtherPython(TypedDict):
    """Another Python, for which pins have wheels that they lack for the chosen one, and its environment."""

    python: str
    environment: str
    pins: list[str]


class UnusedLine(TypedDict):
    """A line that was not used."""

    file: str
    line: int
    text: str
    reason: str


class LockFailure(TypedDict):
    """Why no lock was written; `faults` only if a file has some."""

    kind: str
    message: str
    hint: str
    faults: NotRequired[list[Fault]]


class Adoption(TypedDict):
    """`adopt`: the spec for a project, and what it was concluded from."""

    schema: Literal[1]
    files: list[str]
    last_change: str | None
    clues: list[Clue]
    device: Device
    releases: list[str]
    newest_release: str | None
    environment: str | None
    given_up: list[GivenUp]
    nearest: list[NearEnvironment]
    warnings: list[AdoptionWarning]
    packages: list[str]
    source_builds: list[str]
    own_files: dict[str, str]
    changes: list[PackageChange]
    other_python: OtherPython | None
    unused: list[UnusedLine]
    spec: str | None
    lock: WrittenLock | None
    lock_error: LockFailure | None


class PlannedLayer(TypedDict):
    """A layer of an image; `digest`, `diff_id` and `size` are null until they are known."""

    id: str
    kind: LayerKind
    title: str
    packages: list[str]
    os_packages: list[str]
    archives: list[str]
    files: list[str]
    links: list[str]
    fetch_bytes: int
    digest: str | None
    diff_id: str | None
    size: int | None


class PlanDocument(TypedDict):
    """`plan`: the layers of an image, lowest first."""

    schema: Literal[1]
    environment: str
    lock: str | None
    unpinned: list[str]
    manifest: str | None
    config: str | None
    layers: list[PlannedLayer]
    trusts: list[str]


class Rendered(TypedDict):
    """`render`: the build context that was written."""

    schema: Literal[1]
    folder: str
    lock: str | None
    unpinned: list[str]
    base: str
    build_base: str | None
    files: list[str]
