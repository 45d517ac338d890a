"""Claims of a row about its wheel, and their comparison with measured values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from envbuilder.catalog.cuda import CudaNeed, CudnnNeed, KernelFamily
from envbuilder.catalog.environments import Environment
from envbuilder.core.versions import Release

_NOT_MEASURED = "not measured"
_NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaClaims:
    """CUDA properties of a wheel.

    Attributes:
        compiled: CUDA release that it was compiled with, major and minor; None if the wheel does not record it.
        linkage: `needed` or `dlopen`.
        sonames: Libraries that it links or opens, sorted; without the driver's own libraries and TensorRT.
        cudnn: cuDNN that it was compiled against and the releases that it accepts; None if that cannot be read.
        families: GPU code by kernel family, in the order `cuda`, `mlir`.
    """

    compiled: Release | None
    linkage: str
    sonames: tuple[str, ...]
    cudnn: CudnnNeed | None
    families: tuple[KernelFamily, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Properties of a wheel, as a row claims or as they were measured.

    Attributes:
        glibc: Newest glibc symbol version.
        glibcxx: Newest libstdc++ symbol version.
        needs_avx: Whether code that always runs uses AVX; None if that cannot be determined.
        cuda: The CUDA properties; None for a CPU wheel.
    """

    glibc: Release
    glibcxx: Release
    needs_avx: bool | None
    cuda: CudaClaims | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimComparison:
    """One field of a row with its measured value.

    Attributes:
        field: Path in the row's file.
        agrees: Whether both are equal; True if nothing could be measured.
    """

    field: str
    claimed: str
    measured: str
    agrees: bool


def claims_of(row: Environment) -> Claims:
    """Return the claims of a row about its wheel."""
    return Claims(
        glibc=row.framework.glibc,
        glibcxx=row.framework.glibcxx,
        needs_avx=row.framework.needs_avx,
        cuda=_cuda_claims(row.cuda) if row.cuda else None,
    )


def _cuda_claims(need: CudaNeed) -> CudaClaims:
    return CudaClaims(
        compiled=need.compiled,
        linkage=need.linkage,
        sonames=tuple(sorted((*need.sonames, *need.optional))),
        cudnn=need.cudnn,
        families=need.code,
    )


def compare(claimed: Claims, measured: Claims) -> tuple[ClaimComparison, ...]:
    """Return the comparison of every field, in the order of a row's file."""
    return tuple(_compared(claimed, measured))


def _compared(claimed: Claims, measured: Claims) -> Iterator[ClaimComparison]:
    yield _field("tensorflow.glibc", claimed.glibc.text, measured.glibc.text)
    yield _field("tensorflow.glibcxx", claimed.glibcxx.text, measured.glibcxx.text)
    avx = _NOT_MEASURED if measured.needs_avx is None else _yes(measured.needs_avx)
    yield _field("tensorflow.needs_avx", _yes(bool(claimed.needs_avx)), avx)
    if claimed.cuda is None or measured.cuda is None:
        yield _field("cuda", _there(claimed.cuda), _there(measured.cuda))
        return
    yield from _compared_cuda(claimed.cuda, measured.cuda)


def _compared_cuda(claimed: CudaClaims, measured: CudaClaims) -> Iterator[ClaimComparison]:
    yield _field("cuda.compiled", _release(claimed.compiled), _release(measured.compiled))
    yield _field("cuda.linkage", claimed.linkage, measured.linkage)
    yield _field("cuda.sonames", " ".join(claimed.sonames) or _NONE, " ".join(measured.sonames) or _NOT_MEASURED)
    yield _cudnn(claimed.cudnn, measured.cudnn)
    yield _field(
        "cuda.cudnn.rule",
        claimed.cudnn.rule.value if claimed.cudnn else _NONE,
        measured.cudnn.rule.value if measured.cudnn else _NOT_MEASURED,
    )
    names = dict.fromkeys(family.name for family in (*claimed.families, *measured.families))
    for name in names:
        yield from _compared_family(name, _family(claimed, name), _family(measured, name))


def _compared_family(
    name: str, claimed: KernelFamily | None, measured: KernelFamily | None
) -> Iterator[ClaimComparison]:
    for part in ("machine", "ptx"):
        yield _field(f"cuda.code.{name}.{part}", _codes(claimed, part), _codes(measured, part))
    if measured is None or measured.isa is not None:
        yield _field(f"cuda.code.{name}.isa", _isa(claimed), _isa(measured))
        yield _field(f"cuda.code.{name}.forward", _forward(claimed), _forward(measured))


def _cudnn(claimed: CudnnNeed | None, measured: CudnnNeed | None) -> ClaimComparison:
    """Compare cuDNN; a wheel that records major and minor only agrees with a longer claim that begins so."""
    claimed_text = claimed.compiled.text if claimed else _NONE
    seen = measured.compiled.text if measured else _NOT_MEASURED
    agrees = seen in {_NOT_MEASURED, claimed_text} or claimed_text.startswith(f"{seen}.")
    return ClaimComparison(field="cuda.cudnn.compiled", claimed=claimed_text, measured=seen, agrees=agrees)


def _field(field: str, claimed: str, measured: str) -> ClaimComparison:
    agrees = measured in {claimed, _NOT_MEASURED}
    return ClaimComparison(field=field, claimed=claimed, measured=measured, agrees=agrees)


def _family(cuda: CudaClaims, name: str) -> KernelFamily | None:
    return next((family for family in cuda.families if family.name == name), None)


def _codes(family: KernelFamily | None, part: str) -> str:
    codes = getattr(family, part) if family else ()
    return " ".join(map(str, codes)) or _NONE


def _isa(family: KernelFamily | None) -> str:
    return str(family.isa) if family and family.isa else _NONE


def _forward(family: KernelFamily | None) -> str:
    return _yes(family.forward) if family and family.ptx else _NONE


def _release(release: Release | None) -> str:
    """Return major and minor; only the build_info of the newest wheels has the patch release of the toolkit."""
    return release.series if release else _NOT_MEASURED


def _yes(value: bool) -> str:  # noqa: FBT001  it is the value itself
    return "yes" if value else "no"


def _there(cuda: CudaClaims | None) -> str:
    return "a CUDA build" if cuda else "a CPU build"
