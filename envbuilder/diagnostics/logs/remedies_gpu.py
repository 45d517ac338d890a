"""Remedies for a driver or a GPU that does not fit the CUDA of a log."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.catalog.environments import Environment
from envbuilder.catalog.vendor_builds import VendorBuild
from envbuilder.core.versions import Release
from envbuilder.diagnostics.logs.explanations import Explanation, build
from envbuilder.diagnostics.logs.log_facts import LogFacts
from envbuilder.diagnostics.logs.offers import Offering, nearest, vendor_builds, vendor_note

_CAPABILITY = "nvidia-smi --query-gpu=name,compute_cap --format=csv"
_NEAREST = "the nearest environment that"


def driver_too_old(facts: LogFacts, plain: Explanation) -> Explanation:
    """Return the required driver, and the nearest environment for the existing driver."""
    said = facts.extracted
    cuda, floor = _too_new(facts)
    offer = _with_gpu(nearest(facts)) if said.driver else Offering(row=None)
    other = offer.row
    commands = (*plain.commands[:1], *((build(other),) if other else ()))
    if cuda and floor and facts.is_driver_too_old(floor) is False:
        return _other_runtime(facts, plain, cuda, floor, other)
    if cuda and floor:
        have = f"; this one is {said.driver}" if said.driver else ""
        fix = f"CUDA {cuda} needs driver {floor} or newer{have}. Update it"
        fix += f", or run {other.id}, {_NEAREST} this driver runs.{offer.note}" if other else f".{offer.note}"
        return replace(plain, fix=fix, commands=commands)
    if other:
        fix = f"Update the driver, or run {other.id}, {_NEAREST} driver {said.driver} runs.{offer.note}"
        return replace(plain, fix=fix, commands=commands)
    return replace(plain, fix=f"{plain.fix} `envbuilder list` shows the driver that each environment needs.")


def _with_gpu(offer: Offering) -> Offering:
    """Return the same without a row for the CPU."""
    return offer if offer.row and offer.row.cuda else replace(offer, row=None)


def _other_runtime(
    facts: LogFacts, plain: Explanation, cuda: Release, floor: Release, other: Environment | None
) -> Explanation:
    """Explain a driver that is new enough for the CUDA of TensorFlow: another runtime was loaded.

    Args:
        facts: The log.
        plain: The remedy of the class.
        cuda: CUDA release of the TensorFlow in question.
        floor: The driver that it needs.
        other: The nearest environment that runs on the machine; None if there is none.
    """
    fix = (
        f"CUDA {cuda} needs driver {floor} or newer, which {facts.extracted.driver} is: a libcudart of a newer CUDA is"
        " loaded instead. Take it off the loader path"
    )
    fix += f", or run {other.id}, {_NEAREST} runs there." if other else "."
    commands = ("ldconfig -p | grep libcudart", "echo $LD_LIBRARY_PATH", *((build(other),) if other else ()))
    return replace(plain, fix=fix, commands=commands)


def _too_new(facts: LogFacts) -> tuple[Release | None, Release | None]:
    """Return the CUDA release in the log that the driver is too old for, and the driver that it needs."""
    named = [_cuda_wanted(facts), facts.extracted.cuda, *facts.evidence.releases("cudart")]
    pairs = [(cuda, floor) for cuda in named if cuda and (floor := facts.floor_of(cuda))]
    lacking = [pair for pair in pairs if facts.is_driver_too_old(pair[1])]
    return next(iter([*lacking, *pairs]), (None, None))


def _cuda_wanted(facts: LogFacts) -> Release | None:
    wanted = facts.evidence.releases("cuda_wanted")
    return wanted[0] if wanted else facts.cuda or facts.extracted.cuda


def architecture(facts: LogFacts, plain: Explanation) -> Explanation:
    """Return the nearest environment with proven code for the GPUs of the log, else NVIDIA's own build."""
    if not facts.extracted.capabilities:
        return plain
    which = " and ".join(map(str, facts.extracted.capabilities))
    offer = nearest(facts)
    if offer.row is not None and offer.row.cuda is not None:
        return _environment(facts, plain, offer, which)
    ignoring_driver = nearest(facts, driver=False)
    if ignoring_driver.row is not None and ignoring_driver.row.cuda is not None:
        better = _environment(facts, plain, ignoring_driver, which)
        return replace(better, fix=f"{better.fix} It needs a newer driver than {facts.extracted.driver}.")
    builds = vendor_builds(facts)
    if builds:
        return _vendor(facts, plain, builds[0], which)
    fix = f"No environment that can be built is proven for compute capability {which}: use another GPU, or the CPU."
    return replace(plain, fix=fix, commands=(_CAPABILITY, "envbuilder list --gpus"))


def _environment(facts: LogFacts, plain: Explanation, offer: Offering, which: str) -> Explanation:
    row = offer.row
    if row is None:
        return plain
    near = f" to TensorFlow {facts.extracted.tensorflow}" if facts.extracted.tensorflow else ""
    fix = f"Run {row.id}, the nearest environment{near} with machine code for compute capability {which}.{offer.note}"
    fix += f"{vendor_note(facts, row)} All: `envbuilder list --gpus`."
    return replace(plain, fix=fix, commands=(_CAPABILITY, build(row)))


def _vendor(facts: LogFacts, plain: Explanation, vendor: VendorBuild, which: str) -> Explanation:
    """Return NVIDIA's own build for a GPU that no wheel of the catalog is known to support."""
    who = f"TensorFlow {facts.extracted.tensorflow}" if facts.extracted.tensorflow else "any public wheel of TensorFlow"
    fix = (
        f"Nothing proves that {who} runs on compute capability {which}: its kernels have no machine code for it, and "
        f"what the driver compiles from PTX may fail. NVIDIA's own container {vendor.name} (TensorFlow "
        f"{vendor.tensorflow}, Python {vendor.python}) is made for it; envbuilder does not build it."
    )
    asked = " ".join(f"--gpu {each}" for each in facts.extracted.capabilities)
    return replace(plain, fix=fix, commands=(f"envbuilder advise {asked}", _CAPABILITY))


def jit(facts: LogFacts, plain: Explanation) -> Explanation:
    """Return the remedy for compilation at the first start: another environment, NVIDIA's build, or to wait."""
    sharper = architecture(facts, plain)
    if sharper is plain:
        return plain
    keep = "The first start compiles GPU code for minutes; a larger cache keeps the result."
    return replace(sharper, fix=f"{sharper.fix} {keep}", commands=(*sharper.commands[::-1], *plain.commands[:1]))
