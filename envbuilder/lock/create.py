"""Creation of a lock from spec and environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Protocol

from envbuilder.catalog.environments import BaseChoice, BaseKind, Catalog, CudaProvider, Environment, PythonProvider
from envbuilder.core.errors import UsageError
from envbuilder.core.names import requirement_name
from envbuilder.lock.base_choice import BaseSource, Located, Location, OsPackages, PythonSource, Refused, choose
from envbuilder.lock.builder import LockIngredients, assemble, refuse_policy
from envbuilder.lock.closures import Chosen, Measure, with_sizes
from envbuilder.lock.inputs import has_same_base
from envbuilder.lock.lock import BasePin, Lock, PackageGroup, PackagePin, PythonPin, ToolPin
from envbuilder.lock.profiles import ChosenProfile, chosen_profiles, requirements_of, resolve_profiles
from envbuilder.lock.resolve.requests import (
    ResolvedDistributions,
    build_request,
    layered,
    own_build_request,
    own_request,
    row_request,
)
from envbuilder.lock.resolve.resolver import Resolver
from envbuilder.lock.resolve.shipped_closures import ShippedClosures
from envbuilder.lock.resolve.tensorflow_distributions import tensorflows
from envbuilder.lock.spec import Spec
from envbuilder.lock.staleness import row_of


class OsResolver(Protocol):
    """Resolver of OS packages on a base into exact files."""

    def refusal(self, choice: BaseChoice) -> Refused | None:
        """Return the reason why OS packages cannot be installed on this base from this machine; None if they can."""
        ...

    def resolve(self, located: Located, packages: tuple[str, ...], spec: Spec) -> OsPackages:
        """Return the packages that installing these would add to the base."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IngredientSources:
    """Sources of the ingredients of a lock.

    Attributes:
        pythons: Interpreter archives.
        shipped: Packages shipped with the environments, which need no resolution.
        packages: Resolves Python packages.
        tools: Programs that the build uses.
        kept: A lock whose base, interpreter and OS packages are used again while everything that decides them is
            unchanged; None to look for the newest ones.
    """

    bases: Mapping[BaseKind, BaseSource]
    pythons: PythonSource
    os_packages: OsResolver
    shipped: ShippedClosures
    packages: Resolver
    sizes: Measure
    tools: tuple[ToolPin, ...]
    kept: Lock | None = None


def lock(
    catalog: Catalog,
    spec: Spec,
    sources: IngredientSources,
    *,
    upgrade: date | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Lock:
    """Resolve a spec into exact pins.

    The environment's own packages are those shipped with it. They are resolved if none are shipped for the spec's
    request, or if `upgrade` moves them.

    Args:
        catalog: The environments.
        spec: The spec.
        sources: Where the ingredients come from.
        upgrade: Take the environment's packages as of this day, within its bounds, instead of the shipped ones.
        progress: Progress callback; receives one line of text.

    Raises:
        UnknownEnvironment: The spec names no environment.
        UsageError: The environment lacks the base, interpreter or memory policy of the spec, or the image's name is the
            id of an environment.
        NoUsableBase: No base of the environment is available.
        ResolutionFailed: The requirements conflict.
        SourceUnreachable: A source does not respond.
    """
    row = row_of(catalog, spec, upgrade)
    if any(each.id == spec.name for each in catalog.environments):
        raise UsageError(f"`name: {spec.name}` is the id of an environment", hint="choose another `name:`")
    refuse_policy(row, spec.memory)
    profiles = chosen_profiles(catalog, spec.profiles, row.framework.version)
    progress(f"looking for a base of {row.id}")
    located, refusals = choose(row, spec, lambda choice: _locate(choice, spec, sources))
    for refusal in refusals:
        progress(f"not available: {refusal}")
    progress(f"base {located.base.id}, Python {located.python.version}")
    packages = _packages(row, spec, profiles, located, sources, progress)
    os_packages = _os_packages(spec, located, sources, progress)
    has_stage = any(pin.group is PackageGroup.OWN_BUILD for pin in packages)
    if spec.has_build_stage and not has_stage:
        *others, last = (f"`{name}`" for name in spec.build_stage_fields)
        unused = f"{', '.join(others)} and {last} are" if others else f"{last} is"
        progress(f"every own package has a wheel: {unused} not used")
    building = _build_os_packages(spec, located, os_packages, sources, progress) if has_stage else OsPackages(pins=())
    missing = tuple(sorted({*located.base.missing, *os_packages.missing, *building.missing}))
    return assemble(
        catalog,
        row,
        spec,
        LockIngredients(
            located=replace(located, base=replace(located.base, missing=missing)),
            refusals=refusals,
            packages=packages,
            profiles=profiles,
            os_packages=os_packages.pins,
            build_os_packages=building.pins,
            tools=sources.tools,
        ),
    )


def _locate(choice: BaseChoice, spec: Spec, sources: IngredientSources) -> Location:
    wanted = (*_wanted_os_packages(choice, spec), *(spec.build_tools if spec.has_build_stage else ()))
    refusal = sources.os_packages.refusal(choice) if wanted else None
    if refusal is not None:
        return refusal
    # Looking up a registry image is cheap; a Debian tree is built, which is wasted if the interpreter is unavailable.
    base_first = choice.system.kind is BaseKind.IMAGE
    base = _base(choice, spec, sources) if base_first else None
    if isinstance(base, Refused):
        return base
    python = _python(choice, spec, sources)
    if isinstance(python, Refused):
        return replace(python, base=choice.system.id)
    base = base or _base(choice, spec, sources)
    return base if isinstance(base, Refused) else Located(choice=choice, base=base, python=python)


def _base(choice: BaseChoice, spec: Spec, sources: IngredientSources) -> BasePin | Refused:
    if sources.kept and has_same_base(sources.kept, choice, spec):
        return sources.kept.base
    return sources.bases[choice.system.kind].locate(choice.system, spec.sources)


def _python(choice: BaseChoice, spec: Spec, sources: IngredientSources) -> PythonPin | Refused:
    if sources.kept and not spec.sources.python_archives and has_same_base(sources.kept, choice, spec):
        return sources.kept.python
    match choice.python_provider:
        case PythonProvider.OS:
            return PythonPin(version=choice.python, provider=PythonProvider.OS)
        case PythonProvider.ARCHIVE:
            return sources.pythons.locate(choice.python, choice.system.glibc, spec.sources)


def _packages(  # noqa: PLR0913  one parameter for each ingredient
    row: Environment,
    spec: Spec,
    profiles: Sequence[ChosenProfile],
    located: Located,
    sources: IngredientSources,
    progress: Callable[[str], None],
) -> tuple[PackagePin, ...]:
    request = row_request(row, located.choice)
    closure = sources.shipped.find(row.id, request)
    if closure:
        progress(f"packages as shipped with {row.id} (as of {row.cutoff})")
    else:
        progress(f"resolving packages as of {row.cutoff}")
    for name in tensorflows(map(requirement_name, spec.packages)):
        if name != row.framework.package:
            progress(f"{name} of `packages:` is {row.framework.package} {row.framework.version} of {row.id}")
    shared = closure.packages if closure else sources.packages.resolve(request)
    if profiles:
        progress(f"resolving the tools of {' and '.join(spec.profiles)} as of {spec.cutoff or row.cutoff}")
    dated = replace(request, cutoff=spec.cutoff or request.cutoff)
    added = resolve_profiles(profiles, shared, dated, sources.packages)
    below = (*shared, *added)
    kept = replace(request, requirements=tuple(sorted({*request.requirements, *requirements_of(profiles)})))
    complete = _known(sources.packages.resolve(own_request(row, kept, spec, below)), below) if spec.packages else below
    own_sources = {each for each in complete if not each.is_wheel} - set(below)
    own_build: tuple[Chosen, ...] = ()
    if own_sources and spec.has_build_stage:
        progress(f"resolving what {', '.join(sorted(each.name for each in own_sources))} is built with")
        own_build = sources.packages.resolve(own_build_request(request, spec, complete))
        own_build = with_sizes(own_build, request.python, sources.sizes)
    from_source = any(not chosen.is_wheel for chosen in (below if own_build else complete))
    build = (closure.build if closure else ()) or (
        sources.packages.resolve(build_request(request)) if from_source else ()
    )
    return layered(
        row,
        located.choice,
        ResolvedDistributions(
            shared=shared,
            added=added,
            complete=with_sizes(complete, request.python, sources.sizes),
            build=with_sizes(build if from_source else (), request.python, sources.sizes),
            own_build=own_build,
        ),
    )


def _known(chosen: Iterable[Chosen], shared: Iterable[Chosen]) -> tuple[Chosen, ...]:
    """Return a resolution in which files that are known already replace those of the resolver."""
    known = {each.sha256: each for each in shared}
    return tuple(known.get(each.sha256, each) for each in chosen)


def _os_packages(
    spec: Spec, located: Located, sources: IngredientSources, progress: Callable[[str], None]
) -> OsPackages:
    wanted = _wanted_os_packages(located.choice, spec)
    if not wanted:
        return OsPackages(pins=())
    kept = sources.kept
    if kept and located.base == kept.base and has_same_base(kept, located.choice, spec):
        return OsPackages(pins=kept.os_packages)
    progress(f"asking the base which files {', '.join(wanted)} need")
    return sources.os_packages.resolve(located, wanted, spec)


def _build_os_packages(
    spec: Spec, located: Located, image: OsPackages, sources: IngredientSources, progress: Callable[[str], None]
) -> OsPackages:
    """Return the OS packages that the build stage adds to those of the image, with the suites that were missing."""
    if not spec.build_tools:
        return OsPackages(pins=())
    kept = sources.kept
    if kept and kept.build_os_packages and located.base == kept.base and has_same_base(kept, located.choice, spec):
        return OsPackages(pins=kept.build_os_packages)
    progress(f"asking the base which files {', '.join(spec.build_tools)} need")
    wanted = tuple(sorted({*_wanted_os_packages(located.choice, spec), *spec.build_tools}))
    found = sources.os_packages.resolve(located, wanted, spec)
    there = {pin.name for pin in image.pins}
    return replace(found, pins=tuple(pin for pin in found.pins if pin.name not in there))


def _wanted_os_packages(choice: BaseChoice, spec: Spec) -> tuple[str, ...]:
    """Return the packages that the package manager installs on a base, `name` or `name=version`, sorted."""
    wanted = {*choice.os_packages, *spec.apt}
    if choice.cuda_provider is CudaProvider.OS and choice.libraries:
        wanted |= {*choice.libraries.os_packages}
    if choice.python_provider is PythonProvider.OS and choice.system.python_package:
        wanted.add(choice.system.python_package)
    return tuple(sorted(wanted))
