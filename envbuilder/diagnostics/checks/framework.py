"""Checks of TensorFlow itself."""

from __future__ import annotations

import re
from dataclasses import dataclass

from envbuilder.catalog.cuda import Linkage
from envbuilder.catalog.expectation import CudaExpectation, Expectation
from envbuilder.core.names import version_of
from envbuilder.diagnostics.checks.check import NO_IMPORT, no_result, was_tried, without_tensorflow
from envbuilder.diagnostics.checks.results import NotProven, Outcome, Passed, failure
from envbuilder.diagnostics.facts.facts import Facts, Unseen


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """A known reason of a failing import, recognized by its text.

    Attributes:
        mark: Pattern in the error, its traceback or the output of the process.
    """

    mark: re.Pattern[str]
    reason: str
    remedy: str


# Source: each text was produced by a real import between 2026-11-20 and 2026-11-21 (tests/cases/facts, shared facts
# rot.yaml) or, for SIGILL and the symbol versions, is the text of the kernel's signal and of glibc's loader.
KNOWN_FAILURES: tuple[KnownFailure, ...] = (
    KnownFailure(
        mark=re.compile(r"libcuda\.so\.1: cannot open shared object"),
        reason="this TensorFlow is linked against the driver, and there is none",
        remedy="run it with a GPU (`docker run --gpus all`)",
    ),
    KnownFailure(
        mark=re.compile(r"lib[\w.+-]+: cannot open shared object"),
        reason="a library that TensorFlow is linked against is not on the loader path",
        remedy="rebuild from the lock, and leave LD_LIBRARY_PATH of the image as it is",
    ),
    KnownFailure(
        mark=re.compile(r"Descriptors cannot(?: not)? be created directly"),
        reason="protobuf is too new for this TensorFlow",
        remedy="pin `protobuf<3.21` (`protobuf<3.20` on Python 3.6), or rebuild from the lock, which does",
    ),
    KnownFailure(
        mark=re.compile(
            r"module 'numpy' has no attribute|compiled against (?:ABI|API) version|compiled using NumPy 1\.x"
            r"|multiarray failed to import|_ARRAY_API not found"
        ),
        reason="numpy is incompatible with this TensorFlow",
        remedy="install the numpy of the lock; do not install packages into the image afterwards",
    ),
    KnownFailure(
        mark=re.compile(r"version `(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+' not found"),
        reason="the C or C++ library of the base is too old for this wheel",
        remedy="use a newer base; `envbuilder show` lists those that fit",
    ),
    KnownFailure(
        mark=re.compile(r"SIGILL"),
        reason="the processor lacks an instruction set that the wheel uses, usually AVX",
        remedy="run on a processor with AVX",
    ),
    KnownFailure(
        mark=re.compile(r"No module named '?tensorflow'?(?![\w.])"),
        reason="TensorFlow is not installed for this interpreter",
        remedy="rebuild from the lock",
    ),
    KnownFailure(
        mark=re.compile(r"No module named"),
        reason="a package that TensorFlow needs is missing",
        remedy="rebuild from the lock; check distributions-present lists the missing packages",
    ),
)


def tensorflow_imports(expectation: Expectation, facts: Facts) -> Outcome:
    """Check that `import tensorflow` succeeds."""
    fact = facts.imported
    if not isinstance(fact, Unseen):
        return Passed(seen=f"in {fact.seconds:.1f} s")
    if not was_tried(fact):
        return NotProven(reason=fact.message)
    known = next((failure for failure in KNOWN_FAILURES if failure.mark.search(fact.text)), None)
    if known is KNOWN_FAILURES[0] and expectation.cuda and expectation.cuda.need.linkage is Linkage.NEEDED:
        return NotProven(reason=f"{known.reason}; {known.remedy}")
    because = f" ({known.reason})" if known else ""
    return failure(
        problem=f"import tensorflow failed with {fact.summary}{because}",
        remedy=known.remedy
        if known
        else "run `python -c 'import tensorflow'` in the image and read the traceback from its end",
    )


def tensorflow_version(expectation: Expectation, facts: Facts) -> Outcome:
    """Check that the imported TensorFlow has the version of the lock."""
    if isinstance(facts.imported, Unseen):
        return NotProven(reason=NO_IMPORT)
    seen, wanted = facts.imported.value, expectation.framework_version
    found = version_of(seen.version)
    if found and found.public == wanted.public:
        return Passed(seen=f"TensorFlow {seen.version} ({seen.git_version})" if seen.git_version else seen.version)
    return failure(
        problem=f"TensorFlow at {seen.path} is {seen.version}, the lock has {wanted}",
        remedy="find the other TensorFlow on sys.path (PYTHONPATH, a second distribution such as tensorflow-cpu"
        " beside tensorflow-gpu); rebuild from the lock",
    )


def tensorflow_built_with_cuda(expectation: Expectation, facts: Facts) -> Outcome:
    """Check that TensorFlow is built with CUDA in a GPU environment, and without in a CPU environment."""
    if isinstance(facts.build, Unseen):
        return without_tensorflow("how TensorFlow was built", facts, facts.build)
    wanted, seen = expectation.cuda is not None, facts.build.value.cuda
    if seen and wanted:
        version = dict(facts.build.value.info).get("cuda_version", "")
        return Passed(seen=f"built with CUDA {version}".rstrip())
    if seen == wanted:
        return Passed(seen="built without CUDA, as expected")
    state, other = ("with", "without") if seen else ("without", "with")
    return failure(
        problem=f"TensorFlow was built {state} CUDA, {expectation.environment} needs one built {other}",
        remedy=f"install {expectation.framework} {expectation.framework_version} and no second TensorFlow beside it:"
        f" rebuild from the lock (`envbuilder build {expectation.environment}`)",
    )


def tensorflow_cuda_libraries(cuda: CudaExpectation, facts: Facts) -> Outcome:
    """Check that TensorFlow's own test, which precedes the registration of GPUs, finds all CUDA libraries."""
    if isinstance(facts.own_check, Unseen):
        fact = facts.own_check
        return NotProven(reason=f"the check built into TensorFlow could not be called: {fact.summary}")
    own = facts.own_check.value
    if not own.available:
        return NotProven(reason="this TensorFlow has no built-in check of the CUDA libraries")
    if own.ok:
        return Passed(seen="the check built into TensorFlow passes")
    named = ", ".join(own.missing) or "libraries that it does not name"
    return failure(
        problem=f"TensorFlow cannot open {named} and will not use GPUs",
        remedy=f"put the libraries of CUDA {cuda.release} and cuDNN {cuda.cudnn_release} on the loader path: rebuild"
        " from the lock, and leave LD_LIBRARY_PATH of the image as it is",
    )


def training_loss_falls(expectation: Expectation, facts: Facts) -> Outcome:
    """Check that the loss of a tiny training on fixed data falls."""
    if isinstance(facts.training, Unseen):
        remedy = _compare_distributions(expectation)
        return no_result(facts, facts.training, "the training", "the training", remedy)
    seen = facts.training.value
    if seen.first is not None and seen.last is not None and seen.last < seen.first:
        return Passed(seen=f"{seen.first:.4g} to {seen.last:.4g} in {seen.steps} steps ({seen.how})")
    return failure(
        problem=f"the loss went from {_number(seen.first)} to {_number(seen.last)} in {seen.steps} steps",
        remedy=f"TensorFlow computes incorrect results on this machine; {_compare_distributions(expectation)}",
    )


def _number(value: float | None) -> str:
    return "not a number" if value is None else f"{value:.4g}"


def _compare_distributions(expectation: Expectation) -> str:
    return (
        "compare the installed packages with the lock (check distributions-present), then rebuild:"
        f" `envbuilder build {expectation.environment}`"
    )


def save_load_equal(expectation: Expectation, facts: Facts) -> Outcome:
    """Check that a model gives the same outputs after saving and loading."""
    if isinstance(facts.saving, Unseen):
        if isinstance(facts.training, Unseen):
            return without_tensorflow("a trained model", facts, facts.saving)
        remedy = f"h5py and Keras must be compatible with this TensorFlow; {_compare_distributions(expectation)}"
        return no_result(facts, facts.saving, "a trained model", "saving and loading", remedy)
    if not facts.saving.value:
        return NotProven(reason="nothing was saved")
    wrong = [trip for trip in facts.saving.value if not trip.equal]
    if wrong:
        differences = ", ".join(f"{trip.format} by {_number(trip.difference)}" for trip in wrong)
        return failure(
            problem=f"the outputs of the loaded model differ: {differences}", remedy=_compare_distributions(expectation)
        )
    return Passed(seen=", ".join(trip.format for trip in facts.saving.value))
