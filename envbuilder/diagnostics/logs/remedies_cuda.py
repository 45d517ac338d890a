"""Remedies for drivers, GPUs and CUDA libraries that do not fit."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.catalog.cuda import CudnnRule
from envbuilder.catalog.environments import Environment
from envbuilder.catalog.gpus import VendorBuild
from envbuilder.core.versions import Release
from envbuilder.diagnostics.logs.environments import (
    Offering,
    build,
    listed,
    nearest,
    rows_for_cuda,
    rows_that_fit,
    span,
    vendor_builds,
    vendor_note,
)
from envbuilder.diagnostics.logs.log_facts import Explanation, LogFacts

_CAPABILITY = "nvidia-smi --query-gpu=name,compute_cap --format=csv"
_NEAREST = "the nearest environment that"


def driver_too_old(facts: LogFacts, plain: Explanation) -> Explanation:
    """Return the required driver, and the nearest environment for the existing driver."""
    extracted = facts.extracted
    cuda, floor = _too_new(facts)
    offer = _with_gpu(nearest(facts)) if extracted.driver else Offering(row=None)
    other = offer.row
    commands = (*plain.commands[:1], *((build(other),) if other else ()))
    if cuda and floor and facts.is_driver_too_old(floor) is False:
        return _other_runtime(facts, plain, cuda, floor, other)
    if cuda and floor:
        have = f"; this one is {extracted.driver}" if extracted.driver else ""
        fix = f"CUDA {cuda} needs driver {floor} or newer{have}. Update it"
        fix += f", or run {other.id}, {_NEAREST} this driver runs.{offer.note}" if other else f".{offer.note}"
        return replace(plain, fix=fix, commands=commands)
    if other:
        fix = f"Update the driver, or run {other.id}, {_NEAREST} driver {extracted.driver} runs.{offer.note}"
        return replace(plain, fix=fix, commands=commands)
    return replace(plain, fix=f"{plain.fix} `envbuilder list` shows the driver that each environment needs.")


def _with_gpu(offer: Offering) -> Offering:
    """Return the same without a row for the CPU."""
    return offer if offer.row and offer.row.cuda else replace(offer, row=None)


def _other_runtime(
    facts: LogFacts, plain: Explanation, cuda: Release, floor: Release, other: Environment | None
) -> Explanation:
    """Explain a driver that is new enough for the CUDA of TensorFlow: another runtime was loaded."""
    fix = (
        f"CUDA {cuda} needs driver {floor} or newer, which {facts.extracted.driver} is: a libcudart of a newer CUDA is"
        " loaded instead. Take it off the loader path"
    )
    fix += f", or run {other.id}, {_NEAREST} runs there." if other else "."
    commands = ("ldconfig -p | grep libcudart", "echo $LD_LIBRARY_PATH", *((build(other),) if other else ()))
    return replace(plain, fix=fix, commands=commands)


def _too_new(facts: LogFacts) -> tuple[Release | None, Release | None]:
    """Return the CUDA release in the log that the driver is too old for, and the driver that it needs."""
    wanted = next(iter(facts.evidence.releases("cuda_wanted")), facts.cuda)
    named = [wanted, facts.extracted.cuda, *facts.evidence.releases("cudart")]
    pairs = [(cuda, floor) for cuda in named if cuda and (floor := facts.floor_of(cuda))]
    lacking = [pair for pair in pairs if facts.is_driver_too_old(pair[1])]
    return next(iter([*lacking, *pairs]), (None, None))


def architecture(facts: LogFacts, plain: Explanation) -> Explanation:
    """Return the nearest environment with proven code for the GPUs of the log, else NVIDIA's own build."""
    if not facts.extracted.capabilities:
        return plain
    which = " and ".join(map(str, facts.extracted.capabilities))
    near = facts.extracted.tensorflow or facts.newest_of_opened_cuda
    offer = nearest(facts, tensorflow=near)
    if offer.row is not None and offer.row.cuda is not None:
        return _environment(facts, plain, offer, which)
    ignoring_driver = nearest(facts, driver=False, tensorflow=near)
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


_VERSION = "python -m pip list | grep -i tensorflow"


def missing_library(facts: LogFacts, plain: Explanation) -> Explanation:
    """Return the CUDA and cuDNN of the running TensorFlow; a range if the log does not name its release."""
    row, extracted = facts.row, facts.extracted
    if row is None or row.cuda is None or extracted.tensorflow is None:
        return _missing_of_several(facts, plain)
    need = f"CUDA {row.cuda.compiled} and cuDNN {row.cuda.cudnn.compiled.series}"
    fix = f"{_missing(facts)}TensorFlow {extracted.tensorflow} was built with {need}: put these on the loader path"
    if facts.can_build(row):
        fix += f", or run {row.id}.{_other_cuda(facts, row)}"
        return replace(plain, fix=fix, commands=(*plain.commands[:1], build(row)))
    commands = (*plain.commands[:1], f"envbuilder show {row.id}")
    return replace(plain, fix=f"{fix}.{_other_cuda(facts, row)}", commands=commands)


def _missing(facts: LogFacts) -> str:
    """Return a text with all missing libraries, if there are several."""
    names = facts.extracted.sonames
    return f"{len(names)} libraries are missing: {', '.join(names)}. " if len(names) > 1 else ""


def _missing_of_several(facts: LogFacts, plain: Explanation) -> Explanation:
    """Return the remedy if several releases open a library of this name, and the log does not name the release."""
    rows = rows_that_fit(facts.catalog, facts.extracted)
    if not rows:
        return plain
    cudas = sorted({row.cuda.compiled for row in rows if row.cuda})
    cudnns = sorted({Release(row.cuda.cudnn.compiled.series) for row in rows if row.cuda})
    look = "looks" if len(rows) == 1 else "look"
    fix = (
        f"{_missing(facts)}TensorFlow {_releases(rows)} {look} for it: CUDA {span(cudas)}, with cuDNN {span(cudnns)}."
        f" See which TensorFlow runs, then put the libraries of that release on the loader path"
        f"{_or_environment(facts, rows)}.{_other_cuda(facts, rows[-1])}"
    )
    return replace(plain, fix=fix, commands=(_VERSION, *plain.commands[:1], _show(rows)))


def _or_environment(facts: LogFacts, rows: tuple[Environment, ...]) -> str:
    """Add the environments of the releases that can be built."""
    there = tuple(row for row in rows if facts.can_build(row))
    return f", or take its environment ({listed(there)})" if there else ""


def _show(rows: tuple[Environment, ...]) -> str:
    """Return the command that lists the environments; of one CUDA if they share it."""
    if len(rows) == 1:
        return f"envbuilder show {rows[0].id}"
    kinds = {row.id.split("-")[-1] for row in rows}
    return f"envbuilder list 'tf-*-{kinds.pop()}'" if len(kinds) == 1 else "envbuilder list"


def _releases(rows: tuple[Environment, ...]) -> str:
    return span([f"{row.framework.version.major}.{row.framework.version.minor}" for row in rows])


def _other_cuda(facts: LogFacts, row: Environment) -> str:
    """Return the environments for the installed CUDA."""
    here = facts.extracted.cuda
    if here is None or row.cuda is None or here.head(2) == row.cuda.compiled.head(2):
        return ""
    same = rows_for_cuda(facts.catalog, here)
    return f" The CUDA {here} that is here goes with {listed(tuple(reversed(same)))}." if same else ""


def cudnn_version(facts: LogFacts, plain: Explanation) -> Explanation:
    """Return the releases of cuDNN that TensorFlow accepts; a refusal can prove the rule by itself."""
    extracted = facts.extracted
    if extracted.cudnn_compiled is None:
        return plain
    rows = _rows_of_cudnn(facts, extracted.cudnn_compiled)
    rules = {row.cuda.cudnn.rule for row in rows if row.cuda}
    rule = _proven_rule(facts) or (rules.pop() if len(rules) == 1 else None)
    major, minor = extracted.cudnn_compiled.head(2)
    needs = rule.describe(extracted.cudnn_compiled) if rule else f"cuDNN {major}.{minor}.x"
    have = f" instead of {extracted.cudnn}" if extracted.cudnn else ""
    fix = f"It needs {needs}{have}. Put that one first on the loader path and remove the other."
    return replace(plain, fix=f"{fix}{_environment_of(facts, rows)}", commands=_cudnn_commands(facts, plain, rows))


def _proven_rule(facts: LogFacts) -> CudnnRule | None:
    """Return the exact rule if a refusal proves it: that of a later minor release of the same major one."""
    compiled, loaded = facts.extracted.cudnn_compiled, facts.extracted.cudnn
    if compiled is None or loaded is None:
        return None
    later = compiled.major == loaded.major and loaded.head(2) > compiled.head(2)
    return CudnnRule.EXACT_MINOR if later else None


def _rows_of_cudnn(facts: LogFacts, compiled: Release) -> tuple[Environment, ...]:
    """Return the rows with this cuDNN whose rule refuses the refused release."""
    proven, row = _proven_rule(facts), facts.row
    if row is not None and row.cuda is not None and facts.extracted.tensorflow is not None:
        return (row,)
    return tuple(
        each
        for each in facts.catalog.environments
        if each.cuda and each.cuda.cudnn.compiled.head(2) == compiled.head(2) and proven in {None, each.cuda.cudnn.rule}
    )


def _environment_of(facts: LogFacts, rows: tuple[Environment, ...]) -> str:
    there = tuple(row for row in rows if facts.can_build(row))
    which = f": {listed(there)}" if there else ""
    return f" This is what TensorFlow {_releases(rows)} asks for{which}." if rows else ""


def _cudnn_commands(facts: LogFacts, plain: Explanation, rows: tuple[Environment, ...]) -> tuple[str, ...]:
    commands = list(plain.commands)
    compiled, since = facts.extracted.cudnn_compiled, facts.extracted.since
    if compiled and compiled.major >= 8 and (since is None or since >= Release("2.9")):
        major, minor = compiled.head(2)
        flavour = "cu12" if (major, minor) >= (8, 9) else "cu11"
        commands.append(f"pip install 'nvidia-cudnn-{flavour}=={major}.{minor}.*'")
    buildable = [row for row in rows if facts.can_build(row)]
    if len(rows) == 1 and buildable:
        commands.append(build(rows[0]))
    elif rows:
        commands += [_VERSION, _show(rows)]
    return tuple(commands)
