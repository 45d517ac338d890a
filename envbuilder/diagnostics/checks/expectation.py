"""The expected properties of an image, from an environment and its lock."""

from __future__ import annotations

from dataclasses import replace

from packaging.version import Version

from envbuilder.catalog.cuda import CudaFacts
from envbuilder.catalog.environments import Environment
from envbuilder.catalog.expectation import CudaExpectation, Expectation
from envbuilder.catalog.verdicts import stack_of
from envbuilder.core.memory_policy import HOOK
from envbuilder.core.references import normalized
from envbuilder.lock.closures import Closure
from envbuilder.lock.lock import Lock


def expect(environment: Environment, lock: Lock, tables: CudaFacts) -> Expectation:
    """Return the expected properties of an image made from this lock.

    Raises:
        ValueError: Lock and row are not of the same environment, or only one of them has CUDA.
    """
    if lock.environment != environment.id:
        raise ValueError(f"the lock is of {lock.environment}, the row is {environment.id}")
    if (lock.cuda is None) != (environment.cuda is None):
        raise ValueError(f"only one of lock and row of {environment.id} has CUDA")
    return Expectation(
        environment=environment.id,
        python=lock.python.version,
        framework=normalized(lock.framework),
        framework_version=Version(lock.framework_version),
        cuda=_cuda(environment, lock, tables),
        distributions=tuple(sorted({(pin.name, pin.version) for pin in lock.packages if pin.group.is_installed})),
        glibc=environment.framework.glibc,
        needs_avx=environment.framework.needs_avx,
        deviations=lock.differences,
        memory=lock.memory if lock.tool(HOOK) else None,
    )


def expect_bare(environment: Environment, closure: Closure, tables: CudaFacts) -> Expectation:
    """Return the expected properties of an environment with the packages of a closure, outside of an image."""
    return Expectation(
        environment=environment.id,
        python=closure.python,
        framework=environment.framework.package,
        framework_version=environment.framework.version,
        cuda=_as_compiled(environment, tables),
        distributions=tuple(sorted((each.name, each.version) for each in closure.packages)),
        glibc=environment.framework.glibc,
        needs_avx=environment.framework.needs_avx,
        deviations=(),
    )


def _as_compiled(environment: Environment, tables: CudaFacts) -> CudaExpectation | None:
    """Return the CUDA and cuDNN that the wheel was compiled with; checks of a bare environment need no others."""
    need = environment.cuda
    if need is None:
        return None
    return CudaExpectation(
        need=need,
        release=need.compiled,
        cudnn_release=need.cudnn.compiled,
        sonames=need.sonames,
        stack=stack_of(environment, None),
        tables=tables,
    )


def _cuda(environment: Environment, lock: Lock, tables: CudaFacts) -> CudaExpectation | None:
    need, pin = environment.cuda, lock.cuda
    if need is None or pin is None:
        return None
    stack = replace(stack_of(environment, None), base=lock.base.id, cuda=pin.cuda, cudnn=pin.cudnn)
    return CudaExpectation(
        need=need, release=pin.cuda, cudnn_release=pin.cudnn, sonames=pin.sonames, stack=stack, tables=tables
    )
