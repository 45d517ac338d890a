"""From a row and its lock to what an image must be."""

from __future__ import annotations

from packaging.version import Version

from envbuilder.model.closures import Closure
from envbuilder.model.cuda import CudaNeed, PtxIsa
from envbuilder.model.expectations import CudaExpectation, Expectation
from envbuilder.model.locks import CudaPin, Lock, PackageGroup
from envbuilder.model.memory import HOOK
from envbuilder.model.refs import normalized
from envbuilder.model.rows import Environment


def expect(environment: Environment, lock: Lock, ptx: tuple[PtxIsa, ...] = ()) -> Expectation:
    """What an image made from this lock must be.

    Args:
        environment: The row.
        lock: The lock.
        ptx: Which CUDA release's driver compiles which PTX.

    Raises:
        ValueError: Lock and row are not of the same environment, or only one of them has CUDA.
    """
    if lock.environment != environment.id:
        raise ValueError(f"the lock is of {lock.environment}, the row is {environment.id}")
    if (lock.cuda is None) != (environment.cuda is None):
        raise ValueError(f"only one of lock and row of {environment.id} has CUDA")
    both = environment.cuda and lock.cuda and _cuda(environment.cuda, lock.cuda, ptx)
    return Expectation(
        environment=environment.id,
        python=lock.python.version,
        framework=normalized(lock.framework),
        framework_version=Version(lock.framework_version),
        cuda=both or None,
        distributions=tuple(
            sorted({(pin.name, pin.version) for pin in lock.packages if pin.group is not PackageGroup.BUILD})
        ),
        glibc=environment.framework.glibc,
        needs_avx=environment.framework.needs_avx,
        deviations=lock.deviations,
        memory=lock.memory if lock.tool(HOOK) else None,
    )


def expect_bare(environment: Environment, closure: Closure) -> Expectation:
    """What an environment with the packages of a closure must be, outside of an image."""
    need = environment.cuda
    return Expectation(
        environment=environment.id,
        python=closure.python,
        framework=environment.framework.package,
        framework_version=environment.framework.version,
        cuda=_as_compiled(need) if need else None,
        distributions=tuple(sorted((each.name, each.version) for each in closure.packages)),
        glibc=environment.framework.glibc,
        needs_avx=environment.framework.needs_avx,
        deviations=(),
    )


def _as_compiled(need: CudaNeed) -> CudaExpectation:
    """What the wheel was made for; no check of a bare environment looks at libraries or driver."""
    return CudaExpectation(
        compiled=need.compiled,
        linkage=need.linkage,
        release=need.compiled,
        cudnn=need.cudnn,
        cudnn_release=need.cudnn.compiled,
        driver=need.compiled,
        sonames=need.sonames,
        optional=need.optional,
        code=need.code,
    )


def _cuda(need: CudaNeed, pin: CudaPin, ptx: tuple[PtxIsa, ...]) -> CudaExpectation:
    return CudaExpectation(
        compiled=need.compiled,
        linkage=need.linkage,
        release=pin.cuda,
        cudnn=need.cudnn,
        cudnn_release=pin.cudnn,
        driver=pin.driver,
        sonames=pin.sonames,
        optional=need.optional,
        code=need.code,
        ptx=ptx,
    )
