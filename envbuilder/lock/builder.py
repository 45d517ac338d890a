"""Assembly of located and resolved ingredients into a lock; pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from packaging.version import Version

from envbuilder.catalog.archives import single_source
from envbuilder.catalog.environments import BaseChoice, Catalog, Environment
from envbuilder.catalog.node_requirements import RUNS_OR_UNPROVEN, node_requirements, nvidia_require
from envbuilder.catalog.verdicts import stack_of
from envbuilder.core.errors import UsageError
from envbuilder.core.memory_policy import MemoryPolicy
from envbuilder.lock.base_choice import Located, Refused
from envbuilder.lock.inputs import inputs
from envbuilder.lock.lock import CatalogPin, CudaPin, Lock, OsPackagePin, PackageGroup, PackagePin, ToolPin
from envbuilder.lock.profiles import ChosenProfile, profile_inputs
from envbuilder.lock.spec import Spec

_ASYNC_SINCE = Version("2.6")
"""First release where `TF_GPU_ALLOCATOR=cuda_malloc_async` works.

TensorFlow 2.5 has it and fails at the first operation; docs/memory.md.
Source: https://github.com/tensorflow/tensorflow/issues/48869, https://github.com/tensorflow/tensorflow/issues/50669,
https://github.com/tensorflow/tensorflow/pull/49173.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockIngredients:
    """All exact ingredients of one image.

    Attributes:
        refusals: Preferred bases that were unavailable, in order of preference.
        packages: Python distributions, grouped.
        profiles: Profiles whose tools are among them.
        os_packages: OS packages on top of the base.
        build_os_packages: Further ones of the stage that builds own packages.
        tools: Programs that the build uses.
    """

    located: Located
    refusals: tuple[Refused, ...]
    packages: tuple[PackagePin, ...]
    profiles: tuple[ChosenProfile, ...]
    os_packages: tuple[OsPackagePin, ...]
    build_os_packages: tuple[OsPackagePin, ...] = ()
    tools: tuple[ToolPin, ...]

    @property
    def has_build_stage(self) -> bool:
        """True if own packages are built in a stage of their own."""
        return any(pin.group is PackageGroup.OWN_BUILD for pin in self.packages)


def assemble(catalog: Catalog, row: Environment, spec: Spec, ingredients: LockIngredients) -> Lock:
    """Return the lock of the ingredients."""
    located = ingredients.located
    choice = located.choice
    return Lock(
        environment=row.id,
        catalog=_catalog_pin(catalog, row),
        summary=row.summary,
        framework=row.framework.package,
        framework_version=str(row.framework.version),
        base=located.base,
        python=located.python,
        cuda=_cuda(catalog, row, located, requires=spec.require_driver),
        packages=ingredients.packages,
        profiles=spec.profiles,
        os_packages=ingredients.os_packages,
        build_os_packages=ingredients.build_os_packages,
        build_env=spec.build_env if ingredients.has_build_stage else (),
        tools=ingredients.tools,
        env=spec.env,
        settings=spec.settings,
        user=spec.user,
        memory=spec.memory,
        deviations=(
            *(f"{deviation.what}: {deviation.why}" for deviation in choice.deviations),
            *(single_source(archive) for archive in choice.archives if archive.is_unconfirmed),
        ),
        refused=tuple(refusal.base for refusal in ingredients.refusals),
        sources=tuple(source.text for source in (*row.framework.sources, *row.sources)),
        inputs=inputs(
            row, choice, spec, catalog.driver_floor(row, choice), profiles=profile_inputs(ingredients.profiles)
        ),
        files=tuple(replace(file, source="") for file in spec.files),
        prioritized_files=spec.prioritized,
        allow=spec.allow,
        name=spec.name,
        epoch=int(datetime(row.cutoff.year, row.cutoff.month, row.cutoff.day, tzinfo=UTC).timestamp()),
    )


def _catalog_pin(catalog: Catalog, row: Environment) -> CatalogPin | None:
    team = catalog.origin(row.id)
    return CatalogPin(name=team.name, digest=team.digest, commit=team.place.commit) if team else None


def refuse_policy(row: Environment, policy: MemoryPolicy) -> None:
    """Raise UsageError if the environment does not support a memory policy.

    Raises:
        UsageError: This TensorFlow does not support it.
    """
    if policy.is_async and row.framework.version < _ASYNC_SINCE:
        raise UsageError(
            f"{row.id}: TensorFlow before {_ASYNC_SINCE} has no working asynchronous allocator",
            hint='set `memory: "growth"`, which also allocates memory on demand',
        )


def _cuda(catalog: Catalog, row: Environment, located: Located, *, requires: bool) -> CudaPin | None:
    choice = located.choice
    driver = catalog.driver_floor(row, choice)
    if row.cuda is None or driver is None:
        if requires:
            raise UsageError(f"`require_driver: true`: {row.id} needs no driver", hint="remove `require_driver:`")
        return None
    uses = choice.libraries.archives if choice.libraries else ()
    return CudaPin(
        provider=choice.cuda_provider,
        cuda=choice.cuda or row.cuda.compiled,
        cudnn=choice.cudnn or row.cuda.cudnn.compiled,
        driver=driver,
        sonames=row.cuda.sonames,
        links=choice.links,
        archives=tuple(use.archive.pin(use.sonames) for use in uses),
        require=_requirement(catalog, row, choice) if requires else "",
    )


def _requirement(catalog: Catalog, row: Environment, choice: BaseChoice) -> str:
    """Return the nodes on which NVIDIA's container runtime may start an image: all that are not known to fail.

    Raises:
        UsageError: The base is an image of NVIDIA, which has a requirement of its own, and a library by which other
            drivers work; whether they do depends on names of GPUs, which the container runtime does not compare.
    """
    stack = stack_of(row, choice)
    if stack.has_compat_library:
        raise UsageError(
            f"`require_driver: true`: the base {choice.system.id} has a requirement of its own, NVIDIA_REQUIRE_CUDA",
            hint="remove `require_driver:`, or choose a base of packages with `base:`",
        )
    return nvidia_require(node_requirements(catalog.cuda, stack, accepted=RUNS_OR_UNPROVEN))
