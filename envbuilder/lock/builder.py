"""Assembly of located and resolved ingredients into a lock; pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from packaging.version import Version

from envbuilder.catalog.archives import single_source
from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.core.errors import UsageError
from envbuilder.core.memory_policy import MemoryPolicy
from envbuilder.lock.inputs import inputs
from envbuilder.lock.locations import Located, Refused
from envbuilder.lock.lock import CatalogPin, CudaPin, Lock, OsPackagePin, PackagePin, ToolPin
from envbuilder.lock.spec_values import Spec

_ASYNC_SINCE = Version("2.6")
"""First release where `TF_GPU_ALLOCATOR=cuda_malloc_async` works.

TensorFlow 2.5 has it and fails at the first operation; docs/memory.md.
Source: https://github.com/tensorflow/tensorflow/issues/48869, https://github.com/tensorflow/tensorflow/issues/50669,
https://github.com/tensorflow/tensorflow/pull/49173.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingredients:
    """All exact ingredients of one image.

    Attributes:
        located: Base and interpreter.
        refusals: Preferred bases that were unavailable, in order of preference.
        packages: Python distributions, grouped.
        os_packages: OS packages on top of the base.
        tools: Programs that the build uses.
    """

    located: Located
    refusals: tuple[Refused, ...]
    packages: tuple[PackagePin, ...]
    os_packages: tuple[OsPackagePin, ...]
    tools: tuple[ToolPin, ...]


def assemble(catalog: Catalog, row: Environment, spec: Spec, ingredients: Ingredients) -> Lock:
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
        cuda=_cuda(catalog, row, located),
        packages=ingredients.packages,
        os_packages=ingredients.os_packages,
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
        inputs=inputs(row, choice, spec, catalog.driver_floor(row, choice)),
        files=tuple(replace(file, source="") for file in spec.files),
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


def _cuda(catalog: Catalog, row: Environment, located: Located) -> CudaPin | None:
    choice = located.choice
    driver = catalog.driver_floor(row, choice)
    if row.cuda is None or driver is None:
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
    )
