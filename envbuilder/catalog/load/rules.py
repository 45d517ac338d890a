"""Cross-checks of the rows, from the data alone.

A rule is a pure function (row, catalog tables) -> problems; `RULES` declares them. They run whenever the catalog is
loaded, so that users never see a row that cannot work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from envbuilder.catalog.cuda import Coverage, CudaFacts, Linkage
from envbuilder.catalog.environments import (
    BaseChoice,
    CudaProvider,
    Environment,
    PublicationState,
    PythonProvider,
)
from envbuilder.catalog.evidence import Measured
from envbuilder.core.versions import Release

_FROM_A_SET = {CudaProvider.WHEELS, CudaProvider.OS, CudaProvider.ARCHIVE}


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossCheck:
    """One cross-check.

    Attributes:
        id: Stable kebab-case name.
        states: What must hold, in one sentence.
        problems: Yields every violation by a row.
    """

    id: str
    states: str
    problems: Callable[[Environment, CudaFacts], Iterator[tuple[str, str]]]


def _id_names_release(row: Environment, _: CudaFacts) -> Iterator[tuple[str, str]]:
    major, minor = row.framework.version.release[:2]
    suffix = f"cuda{_minor(row.cuda.compiled)}" if row.cuda else "cpu"
    expected = f"tf-{major}.{minor}-{suffix}"
    if row.id != expected and not row.id.startswith(f"{expected}-"):
        yield "id", f"must be {expected!r} for this wheel and CUDA release"


def _python_has_wheel(row: Environment, _: CudaFacts) -> Iterator[tuple[str, str]]:
    for place, choice in _choices(row):
        if choice.python not in row.framework.pythons:
            tags = ", ".join(map(str, row.framework.pythons))
            yield f"{place}.python", f"there is no wheel for Python {choice.python}; there is for {tags}"


def _os_python_is_there(row: Environment, _: CudaFacts) -> Iterator[tuple[str, str]]:
    for place, choice in _choices(row):
        if choice.python_provider is PythonProvider.OS and choice.python != choice.system.python:
            yield f"{place}.python", f"{choice.system.id} has Python {choice.system.python}, not {choice.python}"


def _glibc_is_new_enough(row: Environment, _: CudaFacts) -> Iterator[tuple[str, str]]:
    for place, choice in _choices(row):
        if choice.system.glibc < row.framework.glibc:
            yield f"{place}.base", f"glibc {choice.system.glibc} is older than the wheel's {row.framework.glibc}"


def _glibcxx_is_new_enough(row: Environment, _: CudaFacts) -> Iterator[tuple[str, str]]:
    for place, choice in _choices(row):
        if choice.system.glibcxx < row.framework.glibcxx:
            problem = f"GLIBCXX {choice.system.glibcxx} is older than the wheel's {row.framework.glibcxx}"
            yield f"{place}.base", problem


def _others_are_patches(row: Environment, _: CudaFacts) -> Iterator[tuple[str, str]]:
    versions = [other.version for other in row.framework.others]
    if versions != sorted(set(versions)):
        yield "tensorflow.others", "must be in ascending order, each once"
    for index, version in enumerate(versions):
        if version.release[:2] != row.framework.version.release[:2] or version == row.framework.version:
            yield f"tensorflow.others[{index}].version", f"must be another patch release of {row.framework.version}"


def _measured_is_evidence(row: Environment, _: CudaFacts) -> Iterator[tuple[str, str]]:
    seen = {entry.sha256 for entry in row.evidence if isinstance(entry, Measured)}
    if row.framework.measured and row.framework.measured not in seen:
        yield (
            "tensorflow.measured",
            "has no evidence of grade measured with this sha256: copy that entry too, or leave both out",
        )
    if seen and row.framework.measured not in seen:
        yield "tensorflow.measured", "is not the wheel that the evidence is about"


def _cuda_comes_from_somewhere(row: Environment, _: CudaFacts) -> Iterator[tuple[str, str]]:
    for place, choice in _choices(row):
        provider = choice.cuda_provider
        if (row.cuda is None) != (provider is CudaProvider.NONE):
            yield f"{place}.cuda_from", "must be none for a CPU row, and only for a CPU row"
        elif provider in _FROM_A_SET and choice.libraries is None:
            yield f"{place}.libraries", f"is missing: CUDA libraries come from {provider.value}"
        elif choice.libraries and bool(choice.libraries.archives) != (provider is CudaProvider.ARCHIVE):
            yield f"{place}.cuda_from", f"must be archive if {choice.libraries.id} names archives, and only then"
        elif provider is CudaProvider.BASE and choice.system.cuda is None:
            yield f"{place}.cuda_from", f"{choice.system.id} has no CUDA libraries"


def _outlives_images(row: Environment, _: CudaFacts) -> Iterator[tuple[str, str]]:
    if all(choice.system.publication.state is PublicationState.WITHDRAWN for choice in row.bases):
        gone = ", ".join(choice.system.id for choice in row.bases)
        yield "bases", f"has only bases that are no longer published: {gone}"


def _cuda_major_fits(row: Environment, _: CudaFacts) -> Iterator[tuple[str, str]]:
    for place, choice in _choices(row):
        if row.cuda is None or choice.cuda is None:
            continue
        exact = row.cuda.linkage is Linkage.NEEDED
        width = 2 if exact else 1
        if choice.cuda.head(width) != row.cuda.compiled.head(width):
            rule = "the same release" if exact else "the same major release"
            yield f"{place}.base", f"has CUDA {choice.cuda}; the wheel needs {rule} as {row.cuda.compiled}"


def _cudnn_is_accepted(row: Environment, _: CudaFacts) -> Iterator[tuple[str, str]]:
    for place, choice in _choices(row):
        if row.cuda is None or choice.cudnn is None:
            continue
        if not row.cuda.cudnn.accepts(choice.cudnn):
            wanted = row.cuda.cudnn.rule.describe(row.cuda.cudnn.compiled)
            yield f"{place}.base", f"has cuDNN {choice.cudnn}; the wheel accepts {wanted}"


def _sonames_are_provided(row: Environment, _: CudaFacts) -> Iterator[tuple[str, str]]:
    for place, choice in _choices(row):
        if row.cuda is None or choice.libraries is None:
            continue
        provided = set(choice.libraries.sonames)
        links = {link.name: link.target for link in choice.links}
        for soname in row.cuda.sonames:
            if soname not in provided and links.get(soname) not in provided:
                yield f"{place}.libraries", f"{choice.libraries.id} has no {soname}, and no link gives it"


def _driver_is_known(row: Environment, cuda: CudaFacts) -> Iterator[tuple[str, str]]:
    for place, choice in _choices(row):
        if row.cuda is None:
            continue
        try:
            cuda.driver_floor(choice.cuda or row.cuda.compiled)
        except KeyError as error:
            yield f"{place}.base", str(error.args[0])


def _ptx_isa_is_known(row: Environment, cuda: CudaFacts) -> Iterator[tuple[str, str]]:
    for index, family in enumerate(row.cuda.code.families if row.cuda else ()):
        if family.isa is not None and cuda.ptx_cuda(family.isa) is None:
            yield f"cuda.code[{index}].isa", f"no CUDA release is known for PTX ISA {family.isa}"


def _some_gpu_is_covered(row: Environment, cuda: CudaFacts) -> Iterator[tuple[str, str]]:
    for place, choice in _choices(row):
        if row.cuda is None or choice.cudnn is None:
            continue
        known = cuda.cudnn_code(choice.cudnn)
        oldest = known.oldest if known else Release("0")
        # Newest first: one covered GPU is enough, and the newest are covered most often.
        if not any(
            gpu.capability >= oldest and row.cuda.code.coverage(gpu.capability) is not Coverage.NONE
            for gpu in reversed(cuda.gpus)
        ):
            yield f"{place}.base", f"no GPU has code of TensorFlow, CUDA and cuDNN on {choice.system.id}"


def _deviation_is_stated(row: Environment, _: CudaFacts) -> Iterator[tuple[str, str]]:
    for place, choice in _choices(row):
        if row.cuda is None or choice.cuda is None:
            continue
        if choice.cuda.head(2) != row.cuda.compiled.head(2) and not choice.deviations:
            yield f"{place}.deviations", f"must say that CUDA is {choice.cuda} instead of {row.cuda.compiled}"


RULES: tuple[CrossCheck, ...] = (
    CrossCheck(
        id="id-names-release", states="the id begins with TensorFlow's and CUDA's release", problems=_id_names_release
    ),
    CrossCheck(id="python-has-wheel", states="every base has a Python with a wheel", problems=_python_has_wheel),
    CrossCheck(
        id="os-python-is-there", states="an OS Python is the one that the base has", problems=_os_python_is_there
    ),
    CrossCheck(id="glibc-new-enough", states="the base's glibc has the wheel's symbols", problems=_glibc_is_new_enough),
    CrossCheck(
        id="glibcxx-new-enough", states="the base's libstdc++ has the wheel's symbols", problems=_glibcxx_is_new_enough
    ),
    CrossCheck(
        id="others-are-patches", states="other releases are of the same minor release", problems=_others_are_patches
    ),
    CrossCheck(
        id="measured-is-evidence", states="a measured row says which wheel was measured", problems=_measured_is_evidence
    ),
    CrossCheck(id="cuda-has-provider", states="CUDA comes from somewhere", problems=_cuda_comes_from_somewhere),
    CrossCheck(id="outlives-images", states="a base is not known to be withdrawn", problems=_outlives_images),
    CrossCheck(id="cuda-major-fits", states="the CUDA libraries have the wheel's sonames", problems=_cuda_major_fits),
    CrossCheck(id="cudnn-accepted", states="TensorFlow starts with the base's cuDNN", problems=_cudnn_is_accepted),
    CrossCheck(
        id="sonames-provided", states="every library that TensorFlow opens is there", problems=_sonames_are_provided
    ),
    CrossCheck(id="driver-known", states="the driver floor can be derived", problems=_driver_is_known),
    CrossCheck(
        id="ptx-isa-known", states="the driver that compiles the PTX can be derived", problems=_ptx_isa_is_known
    ),
    CrossCheck(id="some-gpu-covered", states="on each base some GPU has code", problems=_some_gpu_is_covered),
    CrossCheck(
        id="deviation-stated", states="another CUDA release than the wheel's is stated", problems=_deviation_is_stated
    ),
)


def _choices(row: Environment) -> Iterator[tuple[str, BaseChoice]]:
    for index, choice in enumerate(row.bases):
        yield f"bases[{index}]", choice


def _minor(release: object) -> str:
    return ".".join(str(release).split(".")[:2])
