"""Lock to image."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.errors import UsageError
from envbuilder.core.references import repository_of
from envbuilder.image.builds import Builder, BuildRequest, BuildResult
from envbuilder.image.container_engine import ContainerEngine, Listener
from envbuilder.image.render import HostFile, rendered, write
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest

_TAG_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """How to build.

    Attributes:
        tags: `repository:tag`; empty means `default_tags`.
        builder: None lets the engine decide: BuildKit where it can be had.
        use_cache: False builds every layer again.
        proxies: Proxy variables for the build only.
        host: Host settings for single build steps.
    """

    tags: tuple[str, ...] = ()
    builder: Builder | None = None
    use_cache: bool = True
    proxies: tuple[tuple[str, str], ...] = ()
    host: tuple[HostFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPorts:
    """What building needs of the world.

    Attributes:
        engine: The container engine.
        provide_base: Makes sure that the engine has the lock's base; gives its name there.
        find_file: Where a file with this sha256 is.
        templates: Folder of the Jinja templates.
        work: Folder for the rendered files; removed afterwards.
        notice: Told in one sentence what is being done.
    """

    engine: ContainerEngine
    provide_base: Callable[[Lock], str]
    find_file: Callable[[str], Path | None]
    templates: Path
    work: Path
    notice: Callable[[str], None]


def build(lock: Lock, options: BuildOptions, ports: BuildPorts, listener: Listener) -> BuildResult:
    """Build the image of a lock: nothing that the lock does not name, never another base.

    Raises:
        EngineUnavailable: No engine answers.
        SourceUnreachable: A base, archive or index cannot be reached.
        VerificationFailed: Something is not what the lock says.
        BuildFailed: A step failed.
    """
    builder = options.builder or _builder(ports)
    if builder is Builder.CLASSIC and lock.os_packages:
        raise UsageError(
            "the classic builder cannot add OS packages without leaving settings of this host in the image",
            hint="use BuildKit: --builder buildkit",
        )
    base = ports.provide_base(lock)
    ports.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ports.work, prefix=f"build-{lock.environment}-") as name:
        folder = Path(name) / "context"
        write(rendered(lock, ports.templates), folder, ports.find_file, options.host)
        request = BuildRequest(
            folder=folder,
            tags=options.tags or default_tags(lock),
            builder=builder,
            args=tuple(sorted((("BASE", base), *options.proxies))),
            use_cache=options.use_cache,
        )
        return ports.engine.build(request, listener)


def default_tags(lock: Lock) -> tuple[str, ...]:
    """Return `envbuilder/NAME` as `latest` and by the digest of the lock; NAME is that of the lock, or its row."""
    short = digest(lock).removeprefix("sha256:")[:_TAG_DIGITS]
    repository = repository_of(lock.name or lock.environment)
    return (f"{repository}:latest", f"{repository}:{short}")


def _builder(ports: BuildPorts) -> Builder:
    info = ports.engine.info()
    if info.sessionless_buildkit:
        return Builder.BUILDKIT
    ports.notice(
        f"{info.name} {info.version} with {info.storage} has no BuildKit without a client session; "
        "using the classic builder: one coarse layer, no cache"
    )
    return Builder.CLASSIC
