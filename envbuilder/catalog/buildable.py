"""Buildability of an environment with the ingredients on this machine, decided from data alone.

No network access is made: a base counts as available if it is on this machine or still published.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from envbuilder.catalog.archives import ArchiveFormat, VendorArchive
from envbuilder.catalog.environments import (
    BaseChoice,
    BaseKind,
    BaseSystem,
    Catalog,
    Environment,
    PublicationState,
    PythonProvider,
)
from envbuilder.core.versions import Release

OLDEST_STANDALONE = Release("3.8")
"""Oldest CPython that python-build-standalone has for Linux on x86-64 with glibc.

Source: `uv python list --all-versions --only-downloads`, uv 0.13, 2026-11-22.
"""


class Buildability(StrEnum):
    """Availability of the base and the interpreter for a build."""

    YES = "yes"
    UNKNOWN = "unknown"
    NO = "no"

    @property
    def rank(self) -> int:
        """Position from best to worst, from 0."""
        return tuple(Buildability).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedPython:
    """An interpreter archive in the cache.

    Attributes:
        glibc: Oldest C library on which it runs.
    """

    version: Release
    glibc: Release


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledPython:
    """An interpreter of this machine that may be packed into an archive.

    Attributes:
        version: Major and minor version.
        glibc: Oldest C library on which its files run.
    """

    version: Release
    program: str
    glibc: Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """Ingredients that are available to a build on this machine.

    Attributes:
        bases: Ids of bases that are in the cache or in the container engine.
        engine: Whether a container engine is available.
        pythons: Interpreter archives in the cache.
        installed: Interpreters of this machine, in the order in which they are found; whether an archive can be made
            of one is unknown.
        standalone: Whether standalone interpreters can be downloaded.
        distributions: Distributions of packages whose archive is configured on this host.
        registry_mirror: Registry configured in place of the public ones; empty if none is.
        archives: Ids of vendor archives that are on this machine.
        unaccepted: Ids of publishers of archives whose license the user has not accepted.
    """

    bases: frozenset[str] = frozenset()
    engine: bool = True
    pythons: tuple[PackedPython, ...] = ()
    installed: tuple[InstalledPython, ...] = ()
    standalone: Buildability = Buildability.UNKNOWN
    distributions: frozenset[BaseKind] = frozenset({BaseKind.DEBIAN})
    registry_mirror: str = ""
    archives: frozenset[str] = frozenset()
    unaccepted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Buildable:
    """Buildability of an environment on one of its bases.

    Attributes:
        reasons: Why it is not `yes`, each without a final period; empty if it is.
        hint: An instruction that makes it available; empty if the verdict is `yes`.
        command: The command that does so, if one command on this machine is enough; else empty.
    """

    environment: str
    base: str
    verdict: Buildability
    reasons: tuple[str, ...] = ()
    hint: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Obstacle:
    verdict: Buildability
    reason: str
    hint: str
    command: str = ""
    is_for_build: bool = False
    """Whether a build with its options may overcome it, without another command before."""


def buildable(row: Environment, inventory: Inventory) -> Buildable:
    """Return the result for the base with the best buildability; the first in order of preference among equals.

    Example:
        `buildable(row, Inventory()).verdict is Buildability.NO` for a row whose only base is no longer published.
    """
    return min(each_base(row, inventory), key=lambda answer: answer.verdict.rank)


def each_base(row: Environment, inventory: Inventory) -> tuple[Buildable, ...]:
    """Return the result for every base of an environment, in its order of preference."""
    return tuple(on_base(row, choice, inventory) for choice in row.bases)


def on_base(row: Environment, choice: BaseChoice, inventory: Inventory) -> Buildable:
    """Return the buildability of an environment on one base."""
    obstacles = tuple(_obstacles(choice, inventory))
    before = [obstacle for obstacle in obstacles if not obstacle.is_for_build]
    worst = max(obstacles, key=lambda obstacle: obstacle.verdict.rank, default=None)
    return Buildable(
        environment=row.id,
        base=choice.system.id,
        verdict=worst.verdict if worst else Buildability.YES,
        reasons=tuple(obstacle.reason for obstacle in obstacles),
        hint=worst.hint if worst else "",
        command=before[0].command if len(before) == 1 else "",
    )


def passed_over(row: Environment, choices: Iterable[BaseChoice], inventory: Inventory) -> dict[str, str]:
    """Return the bases before the one that a build would take, each with the reason; empty if it can take none."""
    answers = [on_base(row, choice, inventory) for choice in choices]
    best = min(answers, key=lambda answer: answer.verdict.rank, default=None)
    if best is None or best.verdict is Buildability.NO:
        return {}
    before = answers[: answers.index(best)]
    return {answer.base: "; ".join(answer.reasons) for answer in before}


def nearest_buildable(catalog: Catalog, row: Environment, inventory: Inventory) -> tuple[Environment, ...]:
    """Return environments that can replace one that cannot be built.

    Returns:
        Shape: at most two, and never `row` itself: for a GPU environment the CPU environment of the same TensorFlow
        release, and the nearest environment of its own kind, the newer one of two at the same distance. All of them can
        be built; if none can, they are those that may be.
    """
    answers = {each.id: buildable(each, inventory).verdict for each in catalog.environments if each.id != row.id}
    best = Buildability.YES if Buildability.YES in answers.values() else Buildability.UNKNOWN
    able = [each for each in catalog.environments if answers.get(each.id) is best]
    order = [each.framework.version.release[:2] for each in catalog.environments]
    place = {release: position for position, release in enumerate(dict.fromkeys(order))}
    here = place[row.framework.version.release[:2]]

    def distance(other: Environment) -> tuple[int, int]:
        there = place[other.framework.version.release[:2]]
        return abs(there - here), -there

    same = [each for each in able if row.cuda and each.cuda is None and distance(each)[0] == 0]
    alike = sorted((each for each in able if bool(each.cuda) is bool(row.cuda)), key=distance)
    return (*same, *alike[:1])


def _obstacles(choice: BaseChoice, inventory: Inventory) -> Iterator[_Obstacle]:
    base = None if choice.system.id in inventory.bases else _base_obstacle(choice.system, inventory)
    if base:
        yield base
    if not inventory.engine and _has_apt_run(choice):
        yield _Obstacle(
            verdict=Buildability.NO,
            reason="installing OS packages on a registry image requires a container engine, and none is available",
            hint="start a container engine, or set DOCKER_HOST to its address",
        )
    if choice.python_provider is PythonProvider.ARCHIVE:
        python = _python_obstacle(choice.python, choice.system.glibc, inventory)
        if python:
            yield python
    yield from _archive_obstacles(choice.archives, inventory)


def _has_apt_run(choice: BaseChoice) -> bool:
    """Return True if packages are installed by apt inside a registry image; those on a tree are unpacked."""
    python = choice.system.python_package if choice.python_provider is PythonProvider.OS else ""
    return choice.system.kind is BaseKind.IMAGE and bool(choice.os_packages or python)


def _base_obstacle(system: BaseSystem, inventory: Inventory) -> _Obstacle | None:
    if system.kind.is_tree and system.kind not in inventory.distributions:
        word = system.kind.value
        return _Obstacle(
            verdict=Buildability.NO,
            reason=without_archive(f"a base of {word.capitalize()} packages needs", system.kind),
            hint=f"use --{word}-mirror URL, or `export ENVBUILDER_{word.upper()}_MIRROR=URL`",
        )
    match system.publication.state:
        case PublicationState.PUBLISHED:
            return None
        case PublicationState.WITHDRAWN:
            return _withdrawn(system, inventory.registry_mirror)
        case PublicationState.UNKNOWN:
            return _Obstacle(
                verdict=Buildability.UNKNOWN,
                reason=f"{_name(system)} may no longer be published ({system.publication.note})",
                hint="try to build it, or use a registry that has it: --registry-mirror HOST[:PORT]",
            )


def without_archive(subject: str, kind: BaseKind) -> str:
    """Return what a host lacks that has no archive of a distribution.

    Args:
        subject: Subject and verb: the part that needs the archive.
        kind: The distribution.
    """
    return f"{subject} an archive of {kind.value.capitalize()}, and this host has none in its apt configuration"


def _withdrawn(system: BaseSystem, mirror: str) -> _Obstacle:
    reason = f"{_name(system)} is no longer published (since {system.publication.date})"
    if mirror:
        return _Obstacle(
            verdict=Buildability.UNKNOWN, reason=f"{reason}; {mirror} may have it", hint=f"check that {mirror} has it"
        )
    return _Obstacle(
        verdict=Buildability.NO,
        reason=reason,
        hint="use a registry that still has it: --registry-mirror HOST[:PORT], or build from a bundle with "
        "--bundle FILE",
    )


def _archive_obstacles(archives: tuple[VendorArchive, ...], inventory: Inventory) -> Iterator[_Obstacle]:
    """Yield the obstacles to using libraries in archives; those on a package index count as available."""
    licensed = [archive.id for archive in archives if archive.publisher in inventory.unaccepted]
    missing = [
        each for each in archives if each.format is not ArchiveFormat.WHEEL and each.id not in inventory.archives
    ]
    publishers = " and ".join(sorted({each.publisher for each in missing}))
    accept = ", and NVIDIA's license of the libraries must be accepted" if licensed else ""
    option = " with --accept-nvidia-eula" if licensed else ""
    if missing:
        names = " and ".join(each.id for each in missing)
        yield _Obstacle(
            verdict=Buildability.UNKNOWN,
            is_for_build=True,
            reason=f"{names} must be downloaded from {publishers}, which may not be reachable from here{accept}",
            hint=f"build it{option} where the publisher can be reached, or name a directory or a mirror that has the "
            "archives: --publisher NAME=PLACE",
        )
    elif licensed:
        yield _Obstacle(
            verdict=Buildability.UNKNOWN,
            is_for_build=True,
            reason=f"NVIDIA's license of the libraries in {' and '.join(licensed)} has not been accepted",
            hint="read the license, then build with --accept-nvidia-eula",
        )


def _name(system: BaseSystem) -> str:
    return f"base image {system.image}" if system.image else f"base {system.id}"


def _python_obstacle(python: Release, glibc: Release, inventory: Inventory) -> _Obstacle | None:
    packed = [each for each in inventory.pythons if each.version.head(2) == python.head(2)]
    if any(each.glibc <= glibc for each in packed):
        return None
    verdict = inventory.standalone if python >= OLDEST_STANDALONE else Buildability.NO
    if verdict is Buildability.YES:
        return None
    if packed:
        needed = min(each.glibc for each in packed)
        return _Obstacle(
            verdict=verdict,
            reason=f"the archive of Python {python} in the cache needs glibc {needed}, the base has {glibc}",
            hint=f"run `envbuilder python pack {python}` on a system with glibc {glibc} or older, and name the archive "
            "with --python-archive FILE",
        )
    return _packing(python, glibc, inventory, verdict)


def _packing(python: Release, glibc: Release, inventory: Inventory, verdict: Buildability) -> _Obstacle:
    """Return the obstacle of an interpreter without archive; its hint names only a program that runs on the base."""
    installed = [each for each in inventory.installed if each.version == python]
    fitting = next((each.program for each in installed if each.glibc <= glibc), "")
    if fitting:
        return _Obstacle(
            verdict=Buildability.UNKNOWN,
            reason=f"an interpreter archive of Python {python} is not in the cache; {fitting} can be packed",
            hint=f"run `envbuilder python pack {fitting}`",
            command=f"envbuilder python pack {fitting}",
        )
    too_new = "".join(f"; {each.program} needs glibc {each.glibc}, the base has {glibc}" for each in installed)
    return _Obstacle(
        verdict=verdict,
        reason=f"an interpreter archive of Python {python} is not in the cache, and {_source(verdict, python)}"
        f"{too_new}",
        hint=f"run `envbuilder python pack {python}` where Python {python} is installed with glibc {glibc} or older",
    )


def _source(verdict: Buildability, python: Release) -> str:
    if python < OLDEST_STANDALONE:
        return "no build of it can be downloaded"
    state = "cannot be reached" if verdict is Buildability.NO else "may not be reachable"
    return f"the source of standalone builds {state} from here"
