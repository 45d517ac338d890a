"""Requests to the resolver for an environment and a spec, and the assignment of results to layers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from envbuilder.catalog.environments import BaseChoice, Environment
from envbuilder.core.names import requirement_name
from envbuilder.lock.closures import Chosen
from envbuilder.lock.lock import PackageGroup, PackagePin
from envbuilder.lock.resolve.resolver import Resolution
from envbuilder.lock.resolve.tensorflow_distributions import DISTRIBUTIONS
from envbuilder.lock.resolve.uv_resolver import BUILD_TOOLS, BUILD_TOOLS_CUTOFF
from envbuilder.lock.spec import Spec

_BUILD_CONSTRAINTS = ("setuptools<82",)


def row_request(row: Environment, choice: BaseChoice) -> Resolution:
    """Return the request for the environment without own packages, which all teams share."""
    libraries = choice.libraries
    framework = f"{row.framework.package}=={row.framework.version}"
    return Resolution(
        python=choice.python,
        glibc=choice.system.glibc,
        requirements=tuple(
            sorted((framework, *(libraries.wheels if libraries else ()), *(each.requirement for each in row.additions)))
        ),
        constraints=tuple(sorted(each.requirement for each in row.constraints)),
        cutoff=row.cutoff,
        source_builds=tuple(sorted({*row.source_builds, *choice.source_builds})),
        leave_out=libraries.provided if libraries else (),
    )


def own_request(row: Environment, shared: Resolution, spec: Spec, resolved: Iterable[Chosen]) -> Resolution:
    """Return the request for environment and profiles with own packages; keep their versions wherever possible.

    The environment's TensorFlow satisfies requirements of every other distribution of TensorFlow.
    """
    others = DISTRIBUTIONS - {row.framework.package}
    return replace(
        shared,
        requirements=tuple(sorted({*shared.requirements, *spec.packages})),
        source_builds=tuple(sorted({*shared.source_builds, *spec.source_builds})),
        cutoff=spec.cutoff or shared.cutoff,
        preferred=tuple(f"{chosen.name}=={chosen.version}" for chosen in resolved),
        provided=tuple(sorted(f"{name}=={row.framework.version}" for name in others)),
    )


def build_request(shared: Resolution) -> Resolution:
    """Return the request for the build dependencies of source distributions."""
    return Resolution(
        python=shared.python,
        glibc=shared.glibc,
        requirements=BUILD_TOOLS,
        constraints=_BUILD_CONSTRAINTS,
        cutoff=max(shared.cutoff, BUILD_TOOLS_CUTOFF),
    )


def own_build_request(shared: Resolution, spec: Spec, installed: Iterable[Chosen]) -> Resolution:
    """Return the request for the build dependencies of own packages; keep versions of the image wherever possible.

    So a package is compiled against the version of a library, such as numpy, that it is imported with.
    """
    tools = {requirement_name(each): each for each in (*BUILD_TOOLS, *spec.build_requires)}
    return replace(
        build_request(shared),
        requirements=tuple(sorted({*tools.values(), *spec.build_requires})),
        constraints=_BUILD_CONSTRAINTS if tools["setuptools"] == "setuptools" else (),
        cutoff=max(spec.cutoff or shared.cutoff, BUILD_TOOLS_CUTOFF),
        preferred=tuple(f"{each.name}=={each.version}" for each in installed if each.name not in BUILD_TOOLS),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedDistributions:
    """The distributions of an image, as they were resolved in turn.

    Attributes:
        shared: Those of the environment alone.
        added: Those that its profiles add.
        complete: All that are installed, with own packages.
        build: Build dependencies of source distributions.
        own_build: Those of own packages with a build stage.
    """

    shared: Iterable[Chosen]
    added: Iterable[Chosen]
    complete: Iterable[Chosen]
    build: Iterable[Chosen]
    own_build: Iterable[Chosen] = ()


def layered(row: Environment, choice: BaseChoice, resolved: ResolvedDistributions) -> tuple[PackagePin, ...]:
    """Assign every distribution to a layer.

    A distribution that the own packages added or moved to another version belongs to the own layer. If nothing was
    moved, the layers below are the same for all users of the environment.

    Returns:
        Sorted by group in layer order, then by name.
    """
    below = {(chosen.name, chosen.version) for chosen in resolved.shared}
    tools = {(chosen.name, chosen.version) for chosen in resolved.added}
    libraries = {wheel.partition("==")[0] for wheel in choice.libraries.wheels} if choice.libraries else set()

    def group(chosen: Chosen) -> PackageGroup:
        if (chosen.name, chosen.version) in tools:
            return PackageGroup.PROFILE
        if (chosen.name, chosen.version) not in below:
            return PackageGroup.OWN
        if chosen.name == row.framework.package:
            return PackageGroup.FRAMEWORK
        if chosen.name in libraries or (libraries and chosen.name.startswith("nvidia-")):
            return PackageGroup.CUDA
        return PackageGroup.PACKAGES

    pins = [_pin(chosen, group(chosen)) for chosen in resolved.complete]
    build = grouped_as(PackageGroup.BUILD, resolved.build)
    return in_layer_order((*pins, *build, *grouped_as(PackageGroup.OWN_BUILD, resolved.own_build)))


def grouped_as(group: PackageGroup, chosen: Iterable[Chosen]) -> tuple[PackagePin, ...]:
    """Return pins that all belong to one layer."""
    return tuple(_pin(each, group) for each in chosen)


def in_layer_order(pins: Iterable[PackagePin]) -> tuple[PackagePin, ...]:
    """Return pins sorted by group in layer order, then by name."""
    order = list(PackageGroup)
    return tuple(sorted(pins, key=lambda pin: (order.index(pin.group), pin.name)))


def _pin(chosen: Chosen, group: PackageGroup) -> PackagePin:
    return PackagePin(
        name=chosen.name,
        version=chosen.version,
        file=chosen.file,
        sha256=chosen.sha256,
        group=group,
        size=chosen.size,
    )
