"""Documents of `build`, `sign`, `verify`, `reproduce`, `scan`, `fetch`, `bundle` and `mirror`."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from envbuilder.diagnostics.vulnerabilities.rating import Rating


class Layer(TypedDict):
    """A layer of an image; what the engine does not know is null."""

    id: str | None
    title: str
    digest: str | None
    diff_id: str | None
    size: int
    made: bool | None


class Loaded(TypedDict):
    """Bytes and layers that were sent to the container engine."""

    bytes: int
    layers: int
    present: int


class Pushed(TypedDict):
    """Bytes and layers that were sent to a registry."""

    reference: str
    digest: str
    bytes: int
    layers: int
    present: int
    seconds: float


class BuiltImage(TypedDict):
    """An image that was built."""

    environment: str
    lock: str
    base: str
    builder: str | None
    id: str
    manifest: str | None
    tags: list[str]
    size: int
    layers: list[Layer]
    output: str | None
    loaded: Loaded | None
    pushed: list[Pushed]
    notes: list[str]
    deviations: list[str]


class Step(TypedDict):
    """A step of a build."""

    name: str
    seconds: float
    cached: bool


class Signature(TypedDict):
    """Signatures of an image in its registry."""

    reference: str
    key: str
    signed: list[str]
    signed_before: list[str]


class MissingResult(TypedDict):
    """An environment without a result, with `--on`."""

    name: str
    reason: str
    outcome: Literal["failed", "lost"]
    status: NotRequired[int]
    node: NotRequired[str | None]


class BuildDocument(TypedDict):
    """`build`: the images, in the order of the requests."""

    schema: Literal[1]
    engine: str | None
    images: list[BuiltImage]
    distinct_bytes: int | None
    downloaded_bytes: int | None
    seconds: float
    steps: list[Step]
    log: str | None
    signatures: list[Signature]
    missing: NotRequired[list[MissingResult]]


class SignDocument(TypedDict):
    """`sign`: the signatures of the image."""

    schema: Literal[1]
    signatures: list[Signature]


class LayerDifference(TypedDict):
    """A layer that differs from its lock."""

    layer: str
    problem: str
    files: list[str]


class SignatureCheck(TypedDict):
    """Whether something is signed: by `key`, or not, because of `problem`."""

    title: str
    key: str | None
    problem: str | None


class Verification(TypedDict):
    """`verify`: an image compared with its lock."""

    schema: Literal[1]
    image: str
    lock: str
    same: bool
    compared: str
    expected_manifest: str
    found_manifest: str | None
    found_config: str
    differences: list[LayerDifference]
    signatures: list[SignatureCheck]


class Attempt(TypedDict):
    """One build of a lock under some conditions."""

    name: str
    environ: dict[str, str]
    umask: str
    jobs: int
    manifest: str
    seconds: float


class Reproduction(TypedDict):
    """`reproduce`: several builds of a lock, compared."""

    schema: Literal[1]
    environment: str
    lock: str
    locked_manifest: str | None
    same: bool
    different_layers: list[str]
    attempts: list[Attempt]


class Database(TypedDict):
    """A vulnerability database."""

    name: str
    documents: int
    newest: str | None


class Vulnerability(TypedDict):
    """A known vulnerability of a package, and whether the environment can have the fix."""

    id: str
    aliases: list[str]
    ecosystem: str
    name: str
    version: str
    packages: list[str]
    severity: Rating
    summary: str | None
    fixed: str | None
    fails: bool
    fix: Literal["possible", "not-within-environment", "none"]
    reason: str | None
    remedy: str | None
    command: str | None


class UnreadDocument(TypedDict):
    """A document of a database that could not be read."""

    document: str
    problem: str


class ScanDocument(TypedDict):
    """`scan`: known vulnerabilities of a lock or an image."""

    schema: Literal[1]
    environment: str
    lock: str
    compared: dict[str, int]
    databases: list[Database]
    vulnerabilities: list[Vulnerability]
    withdrawn: int
    unread: list[UnreadDocument]
    not_compared: list[str]


class MissingFiles(TypedDict):
    """Files that could not be fetched, why, and what to do."""

    files: list[str]
    problem: str
    next: str


class FetchDocument(TypedDict):
    """`fetch`: the files of locks in a directory."""

    schema: Literal[1]
    directory: str
    locks: list[str]
    files: int
    bytes: int
    bases: list[str]
    missing: list[MissingFiles]


class BundleDocument(TypedDict):
    """`bundle`: the archive with a lock and its files."""

    schema: Literal[1]
    bundle: str
    lock: str
    bytes: int
    sha256: str
    signature: str | None


class MirroredLock(TypedDict):
    """The files of one lock in a registry."""

    lock: str
    environment: str
    reference: str | None
    digest: str | None
    files: int | None
    sent_files: int | None
    sent_bytes: int | None
    image: str | None
    base: str | None
    missing: list[MissingFiles]


class MirrorDocument(TypedDict):
    """`mirror`: the files of locks in a registry."""

    schema: Literal[1]
    repository: str
    locks: list[MirroredLock]
