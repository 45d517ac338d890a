"""Examination of the surroundings of this machine: all requests run at the same time, each with a time limit."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, Protocol, TypeVar
from urllib.parse import urlsplit

from envbuilder.core.errors import EngineUnavailable, EnvbuilderError
from envbuilder.diagnostics.host.environment import (
    CaBundle,
    EngineAnswers,
    EngineSilent,
    HostEnvironment,
    Silence,
    SourceKind,
    SourceSeen,
)
from envbuilder.image.builds import EngineInfo

T = TypeVar("T")


class Pending(Generic[T]):
    """The future result of some work.

    The thread does not keep the process alive: a name lookup, for example, cannot be stopped from outside.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._results: list[T] = []
        self._errors: list[Exception] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self, seconds: float, late: T) -> T:
        """Return the result, or `late` after the given seconds; an error of the work is raised here."""
        self._thread.join(max(0.0, seconds))
        for error in self._errors:
            raise error
        return next(iter(self._results), late)

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except Exception as error:  # noqa: BLE001  raised again by `result`
            self._errors.append(error)


SOURCE_SECONDS = 1.0
_SPARE_SECONDS = 0.15
"""Time to receive the last answer after the limit."""
_PATIENCE_WITH_ENGINE = 0.4
"""Share of the limit for the engine to return mirrors, before the registry is asked; most is for importing the SDK."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The address of a source.

    Attributes:
        url: Its address; may contain credentials, and is never shown.
        configured: Whether it is in this machine's configuration, so that its host may be shown.
    """

    url: str
    chosen: str
    configured: bool


class HostServices(Protocol):
    """Port to the programs that run containers and commands on this machine."""

    def engine(self) -> EngineInfo:
        """Return the properties of the container engine; raise `EngineError` without one."""
        ...

    def sandbox(self) -> str:
        """Return the sandbox that runs commands in images; raise `EnvbuilderError` if there is none."""
        ...

    def has_toolkit(self) -> bool:
        """Return True if NVIDIA's Container Toolkit is on this machine, which not every engine reports."""
        ...


class SourceAccess(Protocol):
    """Package index, Debian archive and registry, as this machine is configured."""

    def address(self, kind: SourceKind, engine: EngineInfo | None) -> Address | None:
        """Return the address of a source, given the properties of the engine; None if nothing names it."""
        ...

    def ask(self, url: str, limit: float) -> int | Silence | None:
        """Return the HTTP status of an address (None: a directory), or why no answer came within `limit` seconds."""
        ...

    def is_proxied(self, url: str) -> bool:
        """Return True if an address is reached through a proxy."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEnvironmentPorts:
    """What is examined around this machine.

    Attributes:
        services: Engine, sandbox and toolkit.
        sources: Where packages and images come from.
        ca_bundles: Variables that name certificates.
        proxies: Variables that name proxies, without credentials.
        clock: Returns seconds that only go forward.
    """

    services: HostServices
    sources: SourceAccess
    ca_bundles: tuple[CaBundle, ...]
    proxies: tuple[tuple[str, str], ...]
    clock: Callable[[], float] = time.monotonic


def start_host_environment(
    host: HostEnvironmentPorts, *, limit: float = SOURCE_SECONDS
) -> Callable[[], HostEnvironment]:
    """Start all requests at once; each source has `limit` seconds.

    Returns:
        A function that waits for the results, but no longer than the limit allows.
    """
    started = host.clock()
    engine = Pending(lambda: _engine(host))
    sandbox = Pending(lambda: _sandbox(host))
    answered: dict[SourceKind, SourceSeen | None] = {kind: _late(kind, limit) for kind in SourceKind}
    sources = [Pending(partial(_ask, host, kind, engine, limit, answered)) for kind in SourceKind]

    def seen() -> HostEnvironment:
        def left() -> float:
            return started + limit + _SPARE_SECONDS - host.clock()

        late = EngineSilent(why="the container engine did not answer in time", remedy="", denied=False)
        for source in sources:
            source.result(left(), None)
        found = sandbox.result(left(), ("", ""))
        response = engine.result(left(), late)
        now = dict(answered)  # threads that are late may still write
        return HostEnvironment(
            engine=_answers(response, host.services) if isinstance(response, EngineInfo) else response,
            sandbox=found[0],
            why_no_sandbox=found[1],
            sources=tuple(each for kind in SourceKind if (each := now[kind]) is not None),
            unnamed=tuple(kind for kind in SourceKind if now[kind] is None),
            ca_bundles=host.ca_bundles,
            proxies=host.proxies,
            limit=limit,
        )

    return seen


def _engine(host: HostEnvironmentPorts) -> EngineInfo | EngineSilent:
    try:
        return host.services.engine()
    except EnvbuilderError as error:
        denied = isinstance(error, EngineUnavailable) and "ermission denied" in error.message
        return EngineSilent(why=error.message.splitlines()[0], remedy=error.hint, denied=denied)


def _answers(info: EngineInfo, services: HostServices) -> EngineAnswers:
    return EngineAnswers(
        version=info.version,
        api=info.api,
        storage=info.storage,
        buildkit=info.sessionless_buildkit,
        gpus=info.gpus or services.has_toolkit(),
        root=info.root,
        root_free=_free(info.root) if info.root else None,
        rootless=info.rootless,
        context=info.context,
    )


def _free(directory: str) -> int | None:
    """Return the free bytes at a directory; None if it cannot be seen."""
    try:
        status = os.statvfs(directory)
    except OSError:
        return None
    return status.f_frsize * status.f_bavail


def _sandbox(host: HostEnvironmentPorts) -> tuple[str, str]:
    """Return the working sandbox, or the reason why there is none."""
    try:
        return host.services.sandbox(), ""
    except EnvbuilderError as error:
        return "", " ".join(error.message.split())


def _late(kind: SourceKind, limit: float) -> SourceSeen:
    return SourceSeen(kind=kind, host="", chosen="", silence=Silence.TIME, status=None, seconds=limit, proxied=False)


def _ask(
    host: HostEnvironmentPorts,
    kind: SourceKind,
    engine: Pending[EngineInfo | EngineSilent],
    limit: float,
    answered: dict[SourceKind, SourceSeen | None],
) -> None:
    """Ask one source, including the lookup of its address, and note what is known of it as soon as it is.

    Args:
        host: What is asked.
        kind: The source.
        engine: What the engine says; only it knows the mirrors of the registry.
        limit: Seconds for all of it.
        answered: Receives the source: None without an address; silent until there is an answer.
    """
    started = host.clock()
    response = engine.result(limit * _PATIENCE_WITH_ENGINE, _NOBODY) if kind is SourceKind.REGISTRY else _NOBODY
    address = host.sources.address(kind, response if isinstance(response, EngineInfo) else None)
    if address is None:
        answered[kind] = None
        return
    known = replace(
        _late(kind, limit),
        host=_host(address.url) if address.configured else "",
        chosen=address.chosen,
        proxied=host.sources.is_proxied(address.url),
    )
    answered[kind] = known
    left = max(limit - (host.clock() - started), 0.01)
    asked = Pending(lambda: host.sources.ask(address.url, left))
    answer = asked.result(left, Silence.TIME)
    answered[kind] = replace(
        known,
        silence=answer if isinstance(answer, Silence) else None,
        status=None if isinstance(answer, Silence) else answer,
        seconds=round(host.clock() - started, 3),
    )


_NOBODY = EngineSilent(why="", remedy="", denied=False)


def _host(url: str) -> str:
    """Return `host[:port]` of an address, without credentials; empty for a directory and for an invalid address."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    return f"{host}:{port}" if host and port else host


def masked_proxy(address: str) -> str:
    """Return a proxy's address as it may be shown: with … in place of user and password.

    Example:
        >>> masked_proxy("http://me:secret@proxy.example:3128/")
        'http://…@proxy.example:3128'
        >>> masked_proxy("proxy.example:3128"), masked_proxy("me:se@cret@proxy.example")
        ('proxy.example:3128', '…@proxy.example')
    """
    scheme, separator, rest = address.rpartition("://")
    _, at, place = rest.rpartition("@")
    return f"{scheme}{separator}{'…@' if at else ''}{place.partition('/')[0]}"
