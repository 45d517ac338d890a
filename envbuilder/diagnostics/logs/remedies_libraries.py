"""Remedies for CUDA libraries and cuDNN that are missing or of another release."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.catalog.cuda import CudnnRule
from envbuilder.catalog.environments import Environment
from envbuilder.core.versions import Release
from envbuilder.diagnostics.logs.environments import rows_for_cuda, rows_that_fit
from envbuilder.diagnostics.logs.explanations import Explanation, build, listed
from envbuilder.diagnostics.logs.log_facts import LogFacts

_VERSION = "python -m pip list | grep -i tensorflow"


def missing_library(facts: LogFacts, plain: Explanation) -> Explanation:
    """Return the CUDA and cuDNN of the running TensorFlow; a range if the log does not name its release."""
    row, said = facts.row, facts.extracted
    if row is None or row.cuda is None or said.tensorflow is None:
        return _missing_of_several(facts, plain)
    need = f"CUDA {row.cuda.compiled} and cuDNN {row.cuda.cudnn.compiled.series}"
    fix = f"{_missing(facts)}TensorFlow {said.tensorflow} was built with {need}: put these on the loader path"
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
        f"{_missing(facts)}TensorFlow {_releases(rows)} {look} for it: CUDA {_span(cudas)}, with cuDNN {_span(cudnns)}."
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
    names = [f"{row.framework.version.major}.{row.framework.version.minor}" for row in rows]
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _span(releases: list[Release]) -> str:
    return str(releases[0]) if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"


def _other_cuda(facts: LogFacts, row: Environment) -> str:
    """Return the environments for the installed CUDA."""
    here = facts.extracted.cuda
    if here is None or row.cuda is None or here.head(2) == row.cuda.compiled.head(2):
        return ""
    same = rows_for_cuda(facts.catalog, here)
    return f" The CUDA {here} that is here goes with {listed(tuple(reversed(same)))}." if same else ""


def cudnn_version(facts: LogFacts, plain: Explanation) -> Explanation:
    """Return the releases of cuDNN that TensorFlow accepts; a refusal can prove the rule by itself."""
    said = facts.extracted
    if said.cudnn_compiled is None:
        return plain
    rows = _rows_of_cudnn(facts, said.cudnn_compiled)
    rules = {row.cuda.cudnn.rule for row in rows if row.cuda}
    rule = _proven_rule(facts) or (rules.pop() if len(rules) == 1 else None)
    major, minor = said.cudnn_compiled.head(2)
    needs = rule.describe(said.cudnn_compiled) if rule else f"cuDNN {major}.{minor}.x"
    have = f" instead of {said.cudnn}" if said.cudnn else ""
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
