"""What stands around a machine for building images: engine, sources, proxies, certificates."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from envbuilder.core.field_rules import At, Entries, Tagged


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAnswers:
    """A container engine that answers.

    Attributes:
        version: Such as `28.5.2`.
        api: Version of its API, such as `1.51`.
        storage: Storage driver.
        buildkit: Whether we can build with BuildKit.
        gpus: Whether it knows an NVIDIA runtime or CDI devices.
        root: Directory of its data; empty when it does not tell.
        root_free: Bytes free there; None when the directory cannot be seen from here.
        rootless: Whether it runs without root.
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
    """No container engine.

    Attributes:
        why: What happened when it was asked.
        remedy: What to do.
        denied: Whether it is there and this user may not use it.
    """

    why: str
    remedy: str
    denied: bool


class SourceKind(StrEnum):
    """What is fetched from a source."""

    REGISTRY = "base registry"
    INDEX = "package index"
    DEBIAN = "Debian archive"


class Silence(StrEnum):
    """Why a source does not answer."""

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
    """A source that was asked.

    Attributes:
        kind: What it has.
        host: `host[:port]` where the configuration of this machine names it; empty for a tool's own default.
        chosen: Who names it, such as `UV_DEFAULT_INDEX` or `uv's default`.
        silence: Why there was no answer; None when there was one.
        status: HTTP status; None without an answer, and for a directory.
        seconds: How long it took.
        proxied: Whether a proxy stands between.
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
    """The certificates that this machine was told to trust.

    Attributes:
        variable: Which variable says so.
        path: What it says.
        readable: Whether it is there and may be read.
    """

    variable: str
    path: str
    readable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEnvironment:
    """Everything around.

    Attributes:
        engine: The container engine.
        sandbox: What runs commands in images without a daemon, such as `runc 1.1.5`; empty when nothing does.
        why_no_sandbox: Why nothing does; empty when something does, and when it was not found out in time.
        sources: Those that were asked, by kind.
        unnamed: Kinds of sources that nothing on this machine names.
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
