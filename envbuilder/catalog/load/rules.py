"""Cross-checks of the rows, from the data alone.

A rule is a pure function that yields the field and the problem of every violation; `RULES` declares them. They run
whenever the catalog is loaded, so that users never see a row that cannot work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from envbuilder.catalog.cuda import Coverage, CudaFacts, Linkage
from envbuilder.catalog.driver_floors import driver_floor
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


Problems: TypeAlias = Iterator[tuple[str, str]]
Rule: TypeAlias = Callable[[Environment, CudaFacts], Problems]


def _id_names_release(row: Environment, _: CudaFacts) -> Problems:
    """Check that the id begins with TensorFlow's and CUDA's release."""
    major, minor = row.framework.version.release[:2]
    suffix = f"cuda{row.cuda.compiled.series}" if row.cuda else "cpu"
    expected = f"tf-{major}.{minor}-{suffix}"
    if row.id != expected and not row.id.startswith(f"{expected}-"):
        yield "id", f"must be {expected!r} for this wheel and CUDA release"


def _python_has_wheel(row: Environment, choice: BaseChoice, _: CudaFacts) -> Problems:
    """Check that every base has a Python with a wheel."""
    if choice.python not in row.framework.pythons:
        tags = ", ".join(map(str, row.framework.pythons))
        yield "python", f"there is no wheel for Python {choice.python}; there is for {tags}"


def _os_python_is_there(_row: Environment, choice: BaseChoice, _: CudaFacts) -> Problems:
    """Check that an OS Python is the one that the base has."""
    if choice.python_provider is PythonProvider.OS and choice.python != choice.system.python:
        yield "python", f"{choice.system.id} has Python {choice.system.python}, not {choice.python}"


def _glibc_is_new_enough(row: Environment, choice: BaseChoice, _: CudaFacts) -> Problems:
    """Check that the base's glibc has the wheel's symbols."""
    if choice.system.glibc < row.framework.glibc:
        yield "base", f"glibc {choice.system.glibc} is older than the wheel's {row.framework.glibc}"


def _glibcxx_is_new_enough(row: Environment, choice: BaseChoice, _: CudaFacts) -> Problems:
    """Check that the base's libstdc++ has the wheel's symbols."""
    if choice.system.glibcxx < row.framework.glibcxx:
        problem = f"GLIBCXX {choice.system.glibcxx} is older than the wheel's {row.framework.glibcxx}"
        yield "base", problem


def _others_are_patches(row: Environment, _: CudaFacts) -> Problems:
    """Check that other releases are of the same minor release."""
    versions = [other.version for other in row.framework.others]
    if versions != sorted(set(versions)):
        yield "tensorflow.others", "must be in ascending order, each once"
    for index, version in enumerate(versions):
        if version.release[:2] != row.framework.version.release[:2] or version == row.framework.version:
            yield f"tensorflow.others[{index}].version", f"must be another patch release of {row.framework.version}"


def _measured_is_evidence(row: Environment, _: CudaFacts) -> Problems:
    """Check that a measured row says which wheel was measured."""
    seen = {entry.sha256 for entry in row.evidence if isinstance(entry, Measured)}
    if row.framework.measured and row.framework.measured not in seen:
        yield (
            "tensorflow.measured",
            "has no evidence of grade measured with this sha256: copy that entry too, or leave both out",
        )
    if seen and row.framework.measured not in seen:
        yield "tensorflow.measured", "is not the wheel that the evidence is about"


def _cuda_comes_from_somewhere(row: Environment, choice: BaseChoice, _: CudaFacts) -> Problems:
    """Check that CUDA comes from somewhere."""
    provider = choice.cuda_provider
    if (row.cuda is None) != (provider is CudaProvider.NONE):
        yield "cuda_from", "must be none for a CPU row, and only for a CPU row"
    elif provider in _FROM_A_SET and choice.libraries is None:
        yield "libraries", f"is missing: CUDA libraries come from {provider.value}"
    elif choice.libraries and bool(choice.libraries.archives) != (provider is CudaProvider.ARCHIVE):
        yield "cuda_from", f"must be archive if {choice.libraries.id} names archives, and only then"
    elif provider is CudaProvider.BASE and choice.system.cuda is None:
        yield "cuda_from", f"{choice.system.id} has no CUDA libraries"


def _outlives_images(row: Environment, _: CudaFacts) -> Problems:
    """Check that a base is not known to be withdrawn."""
    if all(choice.system.publication.state is PublicationState.WITHDRAWN for choice in row.bases):
        gone = ", ".join(choice.system.id for choice in row.bases)
        yield "bases", f"has only bases that are no longer published: {gone}"


def _cuda_major_fits(row: Environment, choice: BaseChoice, _: CudaFacts) -> Problems:
    """Check that the CUDA libraries have the wheel's sonames."""
    if row.cuda is None or choice.cuda is None:
        return
    exact = row.cuda.linkage is Linkage.NEEDED
    width = 2 if exact else 1
    if choice.cuda.head(width) != row.cuda.compiled.head(width):
        rule = "the same release" if exact else "the same major release"
        yield "base", f"has CUDA {choice.cuda}; the wheel needs {rule} as {row.cuda.compiled}"


def _cudnn_is_accepted(row: Environment, choice: BaseChoice, _: CudaFacts) -> Problems:
    """Check that TensorFlow starts with the base's cuDNN."""
    if row.cuda is None or choice.cudnn is None:
        return
    if not row.cuda.cudnn.accepts(choice.cudnn):
        wanted = row.cuda.cudnn.rule.describe(row.cuda.cudnn.compiled)
        yield "base", f"has cuDNN {choice.cudnn}; the wheel accepts {wanted}"


def _sonames_are_provided(row: Environment, choice: BaseChoice, _: CudaFacts) -> Problems:
    """Check that every library that TensorFlow opens is there."""
    if row.cuda is None or choice.libraries is None:
        return
    provided = set(choice.libraries.sonames)
    links = {link.name: link.target for link in choice.links}
    for soname in row.cuda.sonames:
        if soname not in provided and links.get(soname) not in provided:
            yield "libraries", f"{choice.libraries.id} has no {soname}, and no link gives it"


def _driver_is_known(row: Environment, choice: BaseChoice, cuda: CudaFacts) -> Problems:
    """Check that the driver floor can be derived."""
    if row.cuda is None:
        return
    try:
        driver_floor(cuda, choice.cuda or row.cuda.compiled)
    except KeyError as error:
        yield "base", str(error.args[0])


def _ptx_isa_is_known(row: Environment, cuda: CudaFacts) -> Problems:
    """Check that the driver that compiles the PTX can be derived."""
    for index, family in enumerate(row.cuda.code if row.cuda else ()):
        if family.isa is not None and cuda.ptx_cuda(family.isa) is None:
            yield f"cuda.code[{index}].isa", f"no CUDA release is known for PTX ISA {family.isa}"


def _some_gpu_is_covered(row: Environment, choice: BaseChoice, cuda: CudaFacts) -> Problems:
    """Check that on each base some GPU has code."""
    if row.cuda is None or choice.cudnn is None:
        return
    known = cuda.cudnn_code(choice.cudnn)
    oldest = known.oldest if known else Release("0")
    # Newest first: one covered GPU is enough, and the newest are covered most often.
    if not any(
        gpu.capability >= oldest and row.cuda.coverage(gpu.capability) is not Coverage.NONE
        for gpu in reversed(cuda.gpus)
    ):
        yield "base", f"no GPU has code of TensorFlow, CUDA and cuDNN on {choice.system.id}"


def _deviation_is_stated(row: Environment, choice: BaseChoice, _: CudaFacts) -> Problems:
    """Check that another CUDA release than the wheel's is stated."""
    if row.cuda is None or choice.cuda is None:
        return
    if choice.cuda.head(2) != row.cuda.compiled.head(2) and not choice.deviations:
        yield "deviations", f"must say that CUDA is {choice.cuda} instead of {row.cuda.compiled}"


def _on_each_base(rule: Callable[[Environment, BaseChoice, CudaFacts], Problems]) -> Rule:
    """Return the rule that applies one about a base to each base of a row."""

    def problems(row: Environment, cuda: CudaFacts) -> Problems:
        for index, choice in enumerate(row.bases):
            for field, problem in rule(row, choice, cuda):
                yield f"bases[{index}].{field}", problem

    return problems


RULES: Final[Mapping[str, Rule]] = {
    "id-names-release": _id_names_release,
    "python-has-wheel": _on_each_base(_python_has_wheel),
    "os-python-is-there": _on_each_base(_os_python_is_there),
    "glibc-new-enough": _on_each_base(_glibc_is_new_enough),
    "glibcxx-new-enough": _on_each_base(_glibcxx_is_new_enough),
    "others-are-patches": _others_are_patches,
    "measured-is-evidence": _measured_is_evidence,
    "cuda-has-provider": _on_each_base(_cuda_comes_from_somewhere),
    "outlives-images": _outlives_images,
    "cuda-major-fits": _on_each_base(_cuda_major_fits),
    "cudnn-accepted": _on_each_base(_cudnn_is_accepted),
    "sonames-provided": _on_each_base(_sonames_are_provided),
    "driver-known": _on_each_base(_driver_is_known),
    "ptx-isa-known": _ptx_isa_is_known,
    "some-gpu-covered": _on_each_base(_some_gpu_is_covered),
    "deviation-stated": _on_each_base(_deviation_is_stated),
}
"""Rules by their stable names."""
