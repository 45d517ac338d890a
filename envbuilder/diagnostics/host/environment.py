"""The surroundings of a machine for building images: engine, sources, proxies, certificates."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from envbuilder.core.field_rules import At, Entries, Tagged


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAnswers:
    """A container engine that answered.

    Attributes:
        version: Such as `28.5.2`.
        api: Version of its API, such as `1.51`.
        buildkit: Whether envbuilder can build with BuildKit.
        gpus: Whether it has an NVIDIA runtime or CDI devices.
        root: Directory of its data; empty if it does not report it.
        root_free: Bytes free there; None when the directory cannot be seen from here.
        context: Name of the Docker context that names it; empty for none.
    """

    version: str
    api: str
    storage: str
    buildkit: bool
    gpus: bool
    root: str
    root_free: int | None
    rootless: bool
    context: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSilent:
    """An unavailable container engine.

    Attributes:
        why: The error of the request.
        denied: Whether it is running and this user may not use it.
    """

    why: str
    remedy: str
    denied: bool


class SourceKind(StrEnum):
    """The kind of files that a source provides."""

    REGISTRY = "base registry"
    INDEX = "package index"
    DEBIAN = "Debian archive"


class Silence(StrEnum):
    """The reason why a source does not answer."""

    NAME = "name"
    REFUSED = "refused"
    TIME = "time"
    CERTIFICATE = "certificate"
    CA_BUNDLE = "ca-bundle"
    PROXY = "proxy"
    BROKEN = "broken"
    ADDRESS = "address"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSeen:
    """A source that was queried.

    Attributes:
        host: `host[:port]` where the configuration of this machine names it; empty for a tool's own default.
        chosen: Origin of its address, such as `UV_DEFAULT_INDEX` or `uv's default`.
        silence: Reason for a missing answer; None if there was one.
        status: HTTP status; None without an answer, and for a directory.
    """

    kind: SourceKind
    host: str
    chosen: str
    silence: Silence | None
    status: int | None
    seconds: float
    proxied: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CaBundle:
    """A CA bundle in the configuration of this machine.

    Attributes:
        readable: Whether it exists and may be read.
    """

    variable: str
    path: str
    readable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEnvironment:
    """Everything around the machine.

    Attributes:
        sandbox: Program that runs commands in images without a daemon, such as `runc 1.1.5`; empty if none does.
        why_no_sandbox: Reason why none does; empty if one does, and if it was not determined in time.
        sources: Sources that were asked, by kind.
        unnamed: Kinds of sources without an address on this machine.
        ca_bundles: Variables that name certificates and are set, sorted by variable.
        proxies: `(variable, address without credentials)`, sorted.
        limit: Seconds that each source had to answer.
    """

    engine: Annotated[EngineAnswers | EngineSilent, Tagged("answers", True, False)]  # noqa: FBT003  values of the tag
    sandbox: Annotated[str, At("sandbox", "name")]
    why_no_sandbox: Annotated[str, At("sandbox", "why_not")]
    sources: tuple[SourceSeen, ...]
    unnamed: tuple[SourceKind, ...]
    ca_bundles: tuple[CaBundle, ...]
    proxies: Annotated[tuple[tuple[str, str], ...], Entries(ordered=True)]
    limit: float
