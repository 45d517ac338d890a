"""Remedies for a driver or a GPU that does not fit the CUDA of a log."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.catalog.environments import Environment
from envbuilder.catalog.vendor_builds import VendorBuild
from envbuilder.core.versions import Release
from envbuilder.diagnostics.logs.log_facts import Scene
from envbuilder.diagnostics.logs.offers import Offering, nearest, vendor_builds, vendor_note
from envbuilder.diagnostics.logs.remedy_words import Explanation, build

_CAPABILITY = "nvidia-smi --query-gpu=name,compute_cap --format=csv"
_NEAREST = "the nearest environment that"


def driver_too_old(scene: Scene, plain: Explanation) -> Explanation:
    """The driver that is needed, and the nearest environment for the driver that is there."""
    said = scene.stated
    cuda, floor = _too_new(scene)
    offer = _with_gpu(nearest(scene)) if said.driver else Offering(row=None)
    other = offer.row
    commands = (*plain.commands[:1], *((build(other),) if other else ()))
    if cuda and floor and scene.is_driver_too_old(floor) is False:
        return _other_runtime(scene, plain, cuda, floor, other)
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
    """The same without a row for the CPU."""
    return offer if offer.row and offer.row.cuda else replace(offer, row=None)


def _other_runtime(
    scene: Scene, plain: Explanation, cuda: Release, floor: Release, other: Environment | None
) -> Explanation:
    """Explain a driver that is new enough for the CUDA of TensorFlow: another runtime was loaded.

    Args:
        scene: The log.
        plain: The remedy of the class.
        cuda: CUDA release of the TensorFlow in question.
        floor: The driver that it needs.
        other: The nearest environment that runs on the machine; None if there is none.
    """
    fix = (
        f"CUDA {cuda} needs driver {floor} or newer, which {scene.stated.driver} is: a libcudart of a newer CUDA is"
        " loaded instead. Take it off the loader path"
    )
    fix += f", or run {other.id}, {_NEAREST} runs there." if other else "."
    commands = ("ldconfig -p | grep libcudart", "echo $LD_LIBRARY_PATH", *((build(other),) if other else ()))
    return replace(plain, fix=fix, commands=commands)


def _too_new(scene: Scene) -> tuple[Release | None, Release | None]:
    """Of the CUDAs that are named, one for which the driver is too old, and the driver that it needs."""
    named = [_cuda_wanted(scene), scene.stated.cuda, *scene.evidence.releases("cudart")]
    pairs = [(cuda, floor) for cuda in named if cuda and (floor := scene.floor_of(cuda))]
    lacking = [pair for pair in pairs if scene.is_driver_too_old(pair[1])]
    return next(iter([*lacking, *pairs]), (None, None))


def _cuda_wanted(scene: Scene) -> Release | None:
    wanted = scene.evidence.releases("cuda_wanted")
    return wanted[0] if wanted else scene.cuda or scene.stated.cuda


def architecture(scene: Scene, plain: Explanation) -> Explanation:
    """The nearest environment with proven code for the GPUs of the log, else NVIDIA's own build."""
    if not scene.stated.capabilities:
        return plain
    which = " and ".join(map(str, scene.stated.capabilities))
    offer = nearest(scene)
    if offer.row is not None and offer.row.cuda is not None:
        return _environment(scene, plain, offer, which)
    ignoring_driver = nearest(scene, driver=False)
    if ignoring_driver.row is not None and ignoring_driver.row.cuda is not None:
        better = _environment(scene, plain, ignoring_driver, which)
        return replace(better, fix=f"{better.fix} It needs a newer driver than {scene.stated.driver}.")
    builds = vendor_builds(scene)
    if builds:
        return _vendor(scene, plain, builds[0], which)
    fix = f"No environment that can be built is proven for compute capability {which}: use another GPU, or the CPU."
    return replace(plain, fix=fix, commands=(_CAPABILITY, "envbuilder list --gpus"))


def _environment(scene: Scene, plain: Explanation, offer: Offering, which: str) -> Explanation:
    row = offer.row
    if row is None:
        return plain
    near = f" to TensorFlow {scene.stated.tensorflow}" if scene.stated.tensorflow else ""
    fix = f"Run {row.id}, the nearest environment{near} with machine code for compute capability {which}.{offer.note}"
    fix += f"{vendor_note(scene, row)} All: `envbuilder list --gpus`."
    return replace(plain, fix=fix, commands=(_CAPABILITY, build(row)))


def _vendor(scene: Scene, plain: Explanation, vendor: VendorBuild, which: str) -> Explanation:
    """No wheel of the catalog is known to run on this GPU: say so, and name the build that is made for it."""
    who = f"TensorFlow {scene.stated.tensorflow}" if scene.stated.tensorflow else "any public wheel of TensorFlow"
    fix = (
        f"Nothing proves that {who} runs on compute capability {which}: its kernels have no machine code for it, and "
        f"what the driver compiles from PTX may fail. NVIDIA's own container {vendor.name} (TensorFlow "
        f"{vendor.tensorflow}, Python {vendor.python}) is made for it; envbuilder does not build it."
    )
    asked = " ".join(f"--gpu {each}" for each in scene.stated.capabilities)
    return replace(plain, fix=fix, commands=(f"envbuilder advise {asked}", _CAPABILITY))


def jit(scene: Scene, plain: Explanation) -> Explanation:
    """A first start that compiles GPU code: an environment that need not, else NVIDIA's build, else patience."""
    sharper = architecture(scene, plain)
    if sharper is plain:
        return plain
    keep = "The first start compiles GPU code for minutes; a larger cache keeps the result."
    return replace(sharper, fix=f"{sharper.fix} {keep}", commands=(*sharper.commands[::-1], *plain.commands[:1]))
