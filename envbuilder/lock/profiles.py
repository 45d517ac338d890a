"""Profiles of a lock: their packages, resolved beside the exact packages that an image has without them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from packaging.version import Version

from envbuilder.catalog.environments import Catalog
from envbuilder.core.errors import ResolutionFailed, UsageError
from envbuilder.core.versions import Release
from envbuilder.lock.closures import Chosen, Measure, with_sizes
from envbuilder.lock.lock import Lock, PackageGroup, PackagePin
from envbuilder.lock.resolve.requests import grouped_as, in_layer_order
from envbuilder.lock.resolve.resolver import Resolution, Resolver


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenProfile:
    """A profile with its requirements beside one TensorFlow.

    Attributes:
        requirements: PEP 508 requirements, sorted.
    """

    id: str
    requirements: tuple[str, ...]


def chosen_profiles(catalog: Catalog, names: Iterable[str], tensorflow: Version) -> tuple[ChosenProfile, ...]:
    """Return the named profiles for a release of TensorFlow, in the order of the names.

    Raises:
        UsageError: There is no such profile, or it does not support this TensorFlow.
    """
    known = {profile.id: profile for profile in catalog.profiles}
    chosen = []
    for name in names:
        if name not in known:
            raise UsageError(f"unknown profile {name!r}", hint=f"available: {', '.join(known) or 'none'}")
        requirements = known[name].requirements(tensorflow)
        if not requirements:
            raise UsageError(
                f"the profile {name} does not support TensorFlow {tensorflow}",
                hint=f"remove {name} from `profiles:`, or choose another environment: `envbuilder list`",
            )
        chosen.append(ChosenProfile(id=name, requirements=requirements))
    return tuple(chosen)


def requirements_of(profiles: Iterable[ChosenProfile]) -> tuple[str, ...]:
    """Return the requirements of several profiles, sorted."""
    return tuple(sorted({each for profile in profiles for each in profile.requirements}))


def profile_request(
    profiles: Iterable[ChosenProfile],
    installed: Iterable[Chosen | PackagePin],
    shared: Resolution,
) -> Resolution:
    """Return the request for what profiles add to an image, which keeps its packages exactly as they are.

    Interpreter, C library, bounds and cut-off day are those of `shared`.

    The packages of the image are not read again: source distributions would have to be built, and build tools may be
    younger than the cut-off day.
    """
    return Resolution(
        python=shared.python,
        glibc=shared.glibc,
        requirements=requirements_of(profiles),
        constraints=shared.constraints,
        cutoff=shared.cutoff,
        leave_out=shared.leave_out,
        provided=tuple(sorted(_exactly(pin) for pin in installed)),
    )


def resolve_profiles(
    profiles: Sequence[ChosenProfile], installed: Sequence[Chosen | PackagePin], shared: Resolution, resolver: Resolver
) -> tuple[Chosen, ...]:
    """Return the files that profiles add to an image, sorted by name; none of the packages that it has already.

    Raises:
        ResolutionFailed: No versions of their packages go with those of the image.
        SourceUnreachable: The package index does not respond.
    """
    if not profiles:
        return ()
    names = " and ".join(profile.id for profile in profiles)
    try:
        return resolver.resolve(profile_request(profiles, installed, shared))
    except ResolutionFailed as error:
        raise ResolutionFailed(
            f"the profile {names} cannot be added: its packages must go with those of the image, which stay as they "
            f"are\n{error.message}",
            hint=f"set a later `cutoff:`, or remove {names} from `profiles:`",
        ) from error


def with_profiles(
    lock: Lock,
    catalog: Catalog,
    profiles: Sequence[ChosenProfile],
    resolver: Resolver,
    measure: Measure,
) -> Lock:
    """Return a lock with profiles added; all other pins, and so all layers without the tools, stay the same.

    Args:
        lock: The lock.
        catalog: Bounds of its environment, and the C library of its base.
        profiles: The profiles that it lacks.
        resolver: Resolves their packages.
        measure: Returns the sizes of their files.

    Raises:
        UsageError: The catalog no longer has the base of the lock.
        ResolutionFailed: No versions of their packages go with those of the lock.
    """
    base = next((system for system in catalog.bases if system.id == lock.base.id), None)
    if base is None:
        raise UsageError(
            f"the catalog has no base {lock.base.id}, so files for its C library cannot be chosen",
            hint="lock again: `envbuilder lock`",
        )
    # Own packages may lack an extra that a tool requires, so their metadata is read.
    own = {pin.name: pin for pin in lock.group(PackageGroup.OWN) if pin.is_wheel}
    others = [pin for pin in lock.packages if pin.group.is_installed and pin.name not in own]
    row = catalog.environment(lock.environment)
    bounds = (each.requirement for each in row.constraints) if row else ()
    python = Release(lock.python.version.series)
    shared = Resolution(
        python=python,
        glibc=base.glibc,
        requirements=(),
        constraints=tuple(sorted({*bounds, *map(_exactly, own.values())})),
        cutoff=_cutoff(lock),
    )
    found = resolve_profiles(profiles, others, shared, resolver)
    added = with_sizes([each for each in found if each.name not in own], python, measure)
    return replace(
        lock,
        packages=in_layer_order((*lock.packages, *grouped_as(PackageGroup.PROFILE, added))),
        profiles=tuple(sorted({*lock.profiles, *(profile.id for profile in profiles)})),
        inputs=tuple(sorted({**dict(lock.inputs), **dict(profile_inputs(profiles))}.items())),
        image=None,
    )


def profile_inputs(profiles: Iterable[ChosenProfile]) -> tuple[tuple[str, str], ...]:
    """Return the fields of a lock's inputs that its profiles decide, `(field, value)`."""
    return tuple((f"profiles.{profile.id}", ", ".join(profile.requirements)) for profile in profiles)


def _exactly(pin: Chosen | PackagePin) -> str:
    return f"{pin.name}=={pin.version}"


def _cutoff(lock: Lock) -> date:
    """Return the cut-off day of a lock's own packages; an image is dated on the day of its environment."""
    day = dict(lock.inputs).get("spec.cutoff")
    return date.fromisoformat(day) if day else datetime.fromtimestamp(lock.epoch, UTC).date()
