"""The environment to recommend: the nearest to the one of the log that works there and can be built from here."""

from __future__ import annotations

from collections.abc import Collection

from envbuilder.advising.advice import Advice, Topic, Wanted
from envbuilder.advising.advise import described, every
from envbuilder.advising.ranges import spec_of
from envbuilder.catalog.gpu_names import model_named
from envbuilder.catalog.verdicts import Fit
from envbuilder.diagnosing.scene import Scene
from envbuilder.model.cuda import CudaFacts
from envbuilder.model.hosts import HostGpu
from envbuilder.model.rows import Environment
from envbuilder.model.vendor_builds import VendorBuild
from envbuilder.model.versions import Release

_MACHINE = {Topic.DRIVER, Topic.GPU, Topic.PROCESSOR, Topic.KIND}


def nearest(
    scene: Scene,
    *,
    within: Collection[Release] | None = None,
    driver: bool = True,
    tensorflow: Release | None = None,
) -> Environment | None:
    """Return the buildable environment with the fewest changes that runs on the machine of the log.

    Args:
        scene: The log; its driver and GPUs are taken as the machine.
        within: Minor releases of TensorFlow to choose from; None for all.
        driver: Whether the driver of the log stays.
        tensorflow: The release to stay near; None for that of the log.

    Returns:
        An environment for GPUs where one is left, else one for the CPU; None when none is left. None of them is a mere
        guess: what nobody has proven for a GPU of the log is left out.
    """
    found = [
        row
        for advice in every(scene.catalog, _wanted(scene, tensorflow or scene.stated.tensorflow, driver=driver))
        if _stays(advice, scene) and (row := _row(scene, advice)) and _is_within(row, within) and scene.can_build(row)
    ]
    return next((row for row in found if row.cuda), found[0] if found else None)


def _wanted(scene: Scene, tensorflow: Release | None, *, driver: bool) -> Wanted:
    said = scene.stated
    gpus = tuple(HostGpu(name="", capability=each) for each in said.capabilities)
    asked = spec_of(".".join(map(str, tensorflow.head(2))), "TensorFlow") if tensorflow else None
    return Wanted(tensorflow=asked, hosts=described(said.driver if driver else None, gpus))


def _stays(advice: Advice, scene: Scene) -> bool:
    """Whether only software has to change, and whether the judge says that it runs at once on the GPUs of the log."""
    if any(change.topic in _MACHINE for change in advice.changes):
        return False
    return advice.cuda is None or not scene.stated.capabilities or advice.fit is Fit.FITS


def _row(scene: Scene, advice: Advice) -> Environment | None:
    return next((row for row in scene.catalog.environments if row.id == advice.environment), None)


def _is_within(row: Environment, within: Collection[Release] | None) -> bool:
    return within is None or minor_of(row) in within


def minor_of(row: Environment) -> Release:
    """Return the minor release of TensorFlow of a row."""
    return Release(f"{row.framework.version.major}.{row.framework.version.minor}")


def vendor_builds(scene: Scene) -> tuple[VendorBuild, ...]:
    """Return NVIDIA's own builds that cover every GPU of the log; those of the log's major release first."""
    said = scene.stated
    fitting = [
        build
        for build in scene.catalog.vendor_builds
        if said.capabilities and all(build.oldest <= each <= build.newest for each in said.capabilities)
    ]
    major = said.tensorflow.major if said.tensorflow else 2
    return tuple(sorted(fitting, key=lambda build: build.tensorflow.major != major))


def capabilities_named(facts: CudaFacts, names: Collection[str]) -> tuple[Release, ...]:
    """Return the compute capabilities of GPUs that are called by name, each once."""
    models = (model_named(facts, name) for name in names)
    return tuple(dict.fromkeys(model.capability for model in models if model is not None))
