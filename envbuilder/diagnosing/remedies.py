"""The cause and the remedy in words, sharpened by what the log says and by what the catalog knows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from envbuilder.diagnosing.evidence import Hit
from envbuilder.diagnosing.rows import (
    bound,
    rows_for_capability,
    rows_for_cuda,
    rows_for_driver,
    rows_for_python,
    rows_that_fit,
)
from envbuilder.diagnosing.scene import Scene, hits_of
from envbuilder.model.cuda import Coverage
from envbuilder.model.failures import FailureClass
from envbuilder.model.rows import Environment
from envbuilder.model.versions import Release

_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What to say of a cause.

    Attributes:
        cause: One or two sentences.
        fix: One or two sentences.
        commands: To type, in order.
    """

    cause: str
    fix: str
    commands: tuple[str, ...]


_Sharpen: TypeAlias = "Callable[[Scene, Remedy], Remedy]"


def remedy(scene: Scene, failure: FailureClass) -> Remedy:
    """The words of the strongest signature, else of the class, with the figures of this log."""
    hits = hits_of(scene, failure.id)
    plain = Remedy(
        cause=_filled("cause", failure.cause, hits),
        fix=_filled("fix", failure.fix, hits),
        commands=_commands(failure, hits),
    )
    sharpen = _SHARPER.get(failure.id)
    return sharpen(scene, plain) if sharpen else plain


def _filled(field: str, general: str, hits: tuple[Hit, ...]) -> str:
    for hit in hits:
        template: str = getattr(hit.signature, field)
        text = _fill(template, hit) if template else ""
        if text:
            return text
    return general


def _fill(template: str, hit: Hit) -> str:
    """The template with what was captured; empty when something was not."""
    for sample in hit.samples:
        known = {**sample.captured}
        known.setdefault("gpu", "The GPU")
        if "soname2" in known:
            known.setdefault("soname", known["soname2"])
        if all(name in known for name in _PLACE.findall(template)):
            return _PLACE.sub(lambda place, known=known: known[place[1]], template)  # type: ignore[misc]
    return ""


def _commands(failure: FailureClass, hits: tuple[Hit, ...]) -> tuple[str, ...]:
    for hit in hits[:1]:
        filled = tuple(_fill(command, hit) for command in hit.signature.commands)
        if filled and all(filled):
            return filled
    return failure.commands


def _build(row: Environment) -> str:
    return f"envbuilder build {row.id}"


def _driver_too_old(scene: Scene, plain: Remedy) -> Remedy:
    said = scene.stated
    cuda, floor = _too_new(scene)
    older = rows_for_driver(scene.catalog, said.driver) if said.driver else ()
    if cuda and floor and said.driver and said.driver >= floor:
        fix = (
            f"CUDA {cuda} needs driver {floor} or newer, which {said.driver} is: a libcudart of a newer CUDA is loaded"
        )
        fix += f" instead. Take it off the loader path, or run {older[0].id}." if older else ". Take it off the path."
        commands = ("ldconfig -p | grep libcudart", "echo $LD_LIBRARY_PATH", *(_build(row) for row in older[:1]))
        return replace(plain, fix=fix, commands=commands)
    if cuda and floor:
        have = f"; this one is {said.driver}" if said.driver else ""
        fix = f"CUDA {cuda} needs driver {floor} or newer{have}. Update it"
        fix += f", or run {older[0].id}, the newest environment for this driver." if older else "."
        return replace(plain, fix=fix, commands=(*plain.commands[:1], *(_build(row) for row in older[:1])))
    if older:
        fix = f"Update the driver, or run {older[0].id}, the newest environment for driver {said.driver}."
        return replace(plain, fix=fix, commands=(*plain.commands[:1], _build(older[0])))
    return replace(plain, fix=f"{plain.fix} `envbuilder list` shows the driver that each environment needs.")


def _too_new(scene: Scene) -> tuple[Release | None, Release | None]:
    """Of the CUDAs that are named, one for which the driver is too old, and the driver that it needs."""
    named = [_cuda_wanted(scene), scene.stated.cuda, *map(Release, scene.evidence.captures("cudart"))]
    pairs = [(cuda, floor) for cuda in named if cuda and (floor := _floor(scene, cuda))]
    driver = scene.stated.driver
    lacking = [pair for pair in pairs if driver is not None and driver < pair[1]]
    return next(iter([*lacking, *pairs]), (None, None))


def _cuda_wanted(scene: Scene) -> Release | None:
    wanted = scene.evidence.captures("cuda_wanted")
    return Release(wanted[0].rstrip(".")) if wanted else scene.cuda or scene.stated.cuda


def _floor(scene: Scene, cuda: Release | None) -> Release | None:
    if cuda is None:
        return None
    if cuda == scene.cuda and scene.driver_floor:
        return scene.driver_floor
    try:
        return scene.catalog.cuda.driver_floor(cuda)
    except KeyError:
        return None


def _missing_library(scene: Scene, plain: Remedy) -> Remedy:
    row, said = scene.row, scene.stated
    if row is None or row.cuda is None:
        return _missing_of_several(scene, plain)
    need = f"CUDA {row.cuda.compiled} and cuDNN {'.'.join(map(str, row.cuda.cudnn.compiled.head(2)))}"
    who = f"TensorFlow {said.tensorflow}" if said.tensorflow else "The TensorFlow that asks for it"
    fix = f"{who} was built with {need}: put these on the loader path, or run {row.id}.{_other_cuda(scene, row)}"
    return replace(plain, fix=fix, commands=(*plain.commands[:1], _build(row)))


def _missing_of_several(scene: Scene, plain: Remedy) -> Remedy:
    """Several releases open a library of this name, and the log does not say which one runs."""
    rows = rows_that_fit(scene.catalog, scene.stated)
    if not rows:
        return plain
    fix = (
        f"Environments that bring it: {rows[0].id} to {rows[-1].id}. Take that of your TensorFlow, or put the CUDA "
        f"that it was built with on the loader path.{_other_cuda(scene, rows[-1])}"
    )
    show = "python -m pip list | grep -i tensorflow"
    return replace(plain, fix=fix, commands=(show, *plain.commands[:1], _build(rows[-1])))


def _other_cuda(scene: Scene, row: Environment) -> str:
    """What the CUDA that is here would go with."""
    here = scene.stated.cuda
    if here is None or row.cuda is None or here.head(2) == row.cuda.compiled.head(2):
        return ""
    same = rows_for_cuda(scene.catalog, here)
    return f" The CUDA {here} that is here goes with {same[0].id}." if same else ""


def _cudnn_version(scene: Scene, plain: Remedy) -> Remedy:
    said, row = scene.stated, scene.row
    if said.cudnn_compiled is None:
        return plain
    major, minor = said.cudnn_compiled.head(2)
    if row is not None and row.cuda is not None and said.tensorflow is not None:
        needs = row.cuda.cudnn.rule.describe(said.cudnn_compiled)
    else:
        needs = f"cuDNN {major}.{minor}" + (" or a later minor release" if major >= 7 else " exactly")
    have = f" instead of {said.cudnn}" if said.cudnn else ""
    fix = f"It needs {needs}{have}. Put that one first on the loader path and remove the other."
    commands = list(plain.commands)
    if major >= 8 and (said.since is None or said.since >= Release("2.9")):
        flavour = "cu12" if (major, minor) >= (8, 9) else "cu11"
        commands.append(f"pip install 'nvidia-cudnn-{flavour}=={major}.{minor}.*'")
    rows = [
        each for each in scene.catalog.environments if each.cuda and each.cuda.cudnn.compiled.head(2) == (major, minor)
    ]
    chosen = row if row in rows else (rows[-1] if rows else None)
    return replace(plain, fix=fix, commands=(*commands, *((_build(chosen),) if chosen else ())))


def _architecture(scene: Scene, plain: Remedy) -> Remedy:
    if not scene.stated.capabilities:
        return plain
    capability = min(scene.stated.capabilities) if scene.has("minimum-capability") else max(scene.stated.capabilities)
    rows = rows_for_capability(scene.catalog, capability)
    if not rows:
        fix = f"No environment has code for compute capability {capability}: use another GPU or the CPU."
        return replace(plain, fix=fix, commands=(*plain.commands[:1], "envbuilder list --gpus"))
    row, coverage = rows[0]
    how = "has machine code for it" if coverage is Coverage.MACHINE_CODE else "has PTX that the driver compiles for it"
    fix = f"For compute capability {capability} run {row.id}, the newest that {how}; all: `envbuilder list --gpus`."
    return replace(plain, fix=fix, commands=(*plain.commands[:1], _build(row)))


def _jit(scene: Scene, plain: Remedy) -> Remedy:
    sharper = _architecture(scene, plain)
    if sharper is plain or not any(command.startswith("envbuilder build") for command in sharper.commands):
        return plain
    return replace(
        sharper,
        fix=f"Wait for the first start once and keep the cache. {sharper.fix}",
        commands=(plain.commands[0], sharper.commands[-1]),
    )


def _pinned(package: str) -> _Sharpen:
    def sharpen(scene: Scene, plain: Remedy) -> Remedy:
        row = scene.row
        requirement = bound(row, package) if row else ""
        if row is None or not requirement:
            return plain
        fix = f"TensorFlow {scene.stated.tensorflow or row.framework.version} needs {requirement}. {row.id} has it."
        return replace(plain, fix=fix, commands=(f"pip install '{requirement}'", _build(row)))

    return sharpen


def _python(scene: Scene, plain: Remedy) -> Remedy:
    row, said = scene.row, scene.stated
    if row is not None and said.tensorflow is not None:
        names = ", ".join(str(python) for python in row.pythons)
        fix = f"TensorFlow {said.tensorflow} has wheels for Python {names}"
        fix += f"; this is {said.python}." if said.python else "."
        return replace(
            plain, fix=f"{fix} Use one of them, or run {row.id}.", commands=(*plain.commands[:2], _build(row))
        )
    rows = rows_for_python(scene.catalog, said.python) if said.python else ()
    if rows:
        fix = f"Python {said.python} goes from {rows[-1].id} to {rows[0].id}."
        return replace(plain, fix=f"{plain.fix} {fix}", commands=(*plain.commands[:2], _build(rows[0])))
    return plain


def _avx(scene: Scene, plain: Remedy) -> Remedy:
    rows = [row for row in scene.catalog.environments if not row.framework.needs_avx]
    if not rows:
        return plain
    return replace(
        plain,
        fix=f"{plain.fix} {rows[-1].id} is the newest environment without AVX.",
        commands=(*plain.commands, _build(rows[-1])),
    )


def _keras(scene: Scene, plain: Remedy) -> Remedy:
    said, row = scene.stated, scene.row
    if scene.has("keras3-not-supported", "eager-incompatible") or said.tensorflow is None or row is None:
        return plain
    if said.tensorflow >= Release("2.6"):
        major, minor = said.tensorflow.head(2)
        wanted = f"keras=={major}.{minor}.*" if said.tensorflow < Release("2.16") else "keras>=3"
        return replace(
            plain, fix=f"TensorFlow {said.tensorflow} goes with {wanted}.", commands=(f"pip install '{wanted}'",)
        )
    return replace(plain, commands=(*plain.commands, _build(row)))


def _glibc(scene: Scene, plain: Remedy) -> Remedy:
    row = scene.row
    if row is None:
        return replace(plain, commands=(*plain.commands, "envbuilder list"))
    fix = f"{row.id} brings a system that is new enough: run it in that image. Never replace the system's libc."
    return replace(plain, fix=fix, commands=(*plain.commands, _build(row)))


_SHARPER: dict[str, _Sharpen] = {
    "driver-too-old": _driver_too_old,
    "cuda-soname-missing": _missing_library,
    "cudnn-missing": _missing_library,
    "cudnn-version-mismatch": _cudnn_version,
    "gpu-arch-unsupported": _architecture,
    "ptx-jit": _jit,
    "protobuf-mismatch": _pinned("protobuf"),
    "numpy-abi": _pinned("numpy"),
    "h5py-decode": _pinned("h5py"),
    "setuptools-pkg-resources": _pinned("setuptools"),
    "wrong-python-version": _python,
    "cpu-no-avx": _avx,
    "keras-tf-mismatch": _keras,
    "glibc-too-old": _glibc,
}
