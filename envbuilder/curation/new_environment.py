"""A row for a release that the catalog does not have yet: the newest earlier row of its kind, with the measurement.

Fields that cannot be measured are copied from the earlier row: bounds, traps, order of bases. A maintainer reviews
the diff; the catalog's rules refuse invalid values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from packaging.version import Version

from envbuilder.catalog.claims import Claims, CudaClaims
from envbuilder.catalog.cuda import LibrarySet
from envbuilder.catalog.environments import BaseChoice, Catalog, CudaProvider, Environment
from envbuilder.catalog.sources import Source
from envbuilder.core.errors import UsageError
from envbuilder.core.versions import Release
from envbuilder.core.yaml.canonical import Plain
from envbuilder.curation.environment_files import with_measured

_LOWER_BOUND = re.compile(r"^([A-Za-z0-9._-]+)[^=>]*(?:.*?)(?:>=|==)\s*([0-9][^,;)\s]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRelease:
    """A wheel without a row.

    Attributes:
        pythons: Interpreters for which the index has a wheel, oldest first.
        cuda_pins: Requirements of its own `and-cuda` extra.
        sha256: The wheel that was measured.
        source: Names the wheel and the date.
        today: The day, which becomes the cut-off.
    """

    package: str
    version: Version
    pythons: tuple[Release, ...]
    claims: Claims
    cuda_pins: tuple[str, ...]
    sha256: str
    source: str
    today: date

    @property
    def id(self) -> str:
        """Id of its row."""
        major, minor = self.version.release[:2]
        cuda = self.claims.cuda
        suffix = f"cuda{cuda.compiled.series}" if cuda and cuda.compiled else "cpu"
        return f"tf-{major}.{minor}-{suffix}"


def model_for(catalog: Catalog, release: NewRelease) -> Environment:
    """Return the newest row of the same kind before a release, or else the oldest after it.

    Raises:
        UsageError: The catalog has no row of this kind.
    """
    kind = [row for row in catalog.environments if (row.cuda is None) == (release.claims.cuda is None)]
    if not kind:
        raise UsageError("the catalog has no environment of this kind to start from")
    before = [row for row in kind if row.framework.version <= release.version]
    return before[-1] if before else kind[0]


def library_set(catalog: Catalog, release: NewRelease) -> LibrarySet | None:
    """Return the library set that the release itself requires.

    Returns:
        None for a CPU release, one without the extra, and one whose set the catalog has already.
    """
    cuda = release.claims.cuda
    wheels = sorted(_lower_bounds(release.cuda_pins))
    if cuda is None or cuda.compiled is None or not wheels:
        return None
    if any(sorted(known.wheels) == wheels for known in catalog.libraries):
        return None
    cudnn = next((Release(pin.partition("==")[2]) for pin in wheels if "cudnn" in pin), Release("0"))
    major, minor = cuda.compiled.head(2)
    source = (
        f"lower bounds of the [and-cuda] extra of {release.package} {release.version}: the releases that it was "
        f"compiled with, {release.today}; sonames are those that it opens, not read from these wheels"
    )
    name = f"cu{major}-{major}.{minor}-cudnn{cudnn.series}"
    if any(known.id == name for known in catalog.libraries):
        # The same CUDA and cuDNN with another NCCL or the like: this one is named for its TensorFlow.
        name = f"{name}-{release.id.rpartition('-')[0]}"
    return LibrarySet(
        id=name,
        cuda=Release(cuda.compiled.series),
        cudnn=Release(".".join(cudnn.text.split(".")[:3])),
        wheels=tuple(wheels),
        sonames=tuple(soname for soname in cuda.sonames if not soname.startswith("libnvshmem")),
        sources=(Source(text=source),),
    )


def new_environment(
    model: Environment, document: dict[str, Plain], release: NewRelease, libraries: str
) -> dict[str, Plain]:
    """Return the document of the new row, a copy of the model's with the measurement.

    `libraries` is the library set for bases that take CUDA from wheels; empty keeps that of the model.

    Raises:
        UsageError: No base of the model has an interpreter for which there is a wheel.
    """
    bases = [
        _with_libraries(entry, libraries)
        for choice, entry in zip(model.bases, _entries(document.get("bases")), strict=True)
        if _fits(choice, release)
    ]
    if not bases:
        raise UsageError(
            f"no base of {model.id} has a Python with a wheel of {release.version}",
            hint="add a base to matrices/bases.yaml and to that environment first",
        )
    tensorflow: dict[str, Plain] = {
        "package": release.package,
        "version": str(release.version),
        "pythons": [str(python) for python in release.pythons],
        "sources": [f"Python tags from the index listing, {release.today}"],
    }
    made: dict[str, Plain] = {
        **document,
        "id": release.id,
        "summary": _summary(release),
        "tensorflow": tensorflow,
        "cutoff": release.today.isoformat(),
        "bases": list(bases),
        "sources": [f"measured from the wheel, {release.today}; started from the row {model.id}, not yet documented"],
    }
    return with_measured(made, release.claims, sha256=release.sha256, source=release.source)


def _fits(choice: BaseChoice, release: NewRelease) -> bool:
    """Return True if a base of the model has the interpreter, the C libraries and the CUDA family of the release."""
    claims, system = release.claims, choice.system
    if choice.python not in release.pythons or system.glibc < claims.glibc or system.glibcxx < claims.glibcxx:
        return False
    if choice.cuda_provider is not CudaProvider.BASE or claims.cuda is None:
        return True
    return _fits_cuda(choice, claims.cuda)


def _fits_cuda(choice: BaseChoice, cuda: CudaClaims) -> bool:
    if choice.cuda is None or cuda.compiled is None or choice.cuda.major != cuda.compiled.major:
        return False
    return choice.cudnn is None or cuda.cudnn is None or cuda.cudnn.accepts(choice.cudnn)


def _with_libraries(entry: dict[str, Plain], libraries: str) -> dict[str, Plain]:
    return {**entry, "libraries": libraries} if libraries and "libraries" in entry else entry


def _summary(release: NewRelease) -> str:
    cuda = release.claims.cuda
    if cuda is None:
        return f"TensorFlow {release.version} for CPUs: small, for laptops and CI"
    cudnn = f", cuDNN {cuda.cudnn.compiled.series}" if cuda.cudnn else ""
    return f"TensorFlow {release.version}, CUDA {cuda.compiled.series if cuda.compiled else '?'}{cudnn}"


def _lower_bounds(pins: Iterable[str]) -> list[str]:
    """Return `name==lowest` of requirements such as `nvidia-cublas-cu12<13.0,>=12.5.3.2`.

    Example:
        >>> _lower_bounds(["nvidia-cublas-cu12<13.0,>=12.5.3.2", "nvidia-cudnn-cu12==8.9.4.25"])
        ['nvidia-cublas-cu12==12.5.3.2', 'nvidia-cudnn-cu12==8.9.4.25']
    """
    found = (_LOWER_BOUND.match(pin) for pin in pins)
    return [f"{match[1]}=={match[2]}" for match in found if match]


def _entries(value: Plain | None) -> list[dict[str, Plain]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
