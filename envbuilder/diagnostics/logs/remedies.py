"""Texts of cause and remedy, made specific by the log and the catalog; remedies for programs and packages."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envbuilder.core.versions import Release
from envbuilder.diagnostics.logs.environments import bound, build, nearest, rows_for_python, span
from envbuilder.diagnostics.logs.evidence import Hit
from envbuilder.diagnostics.logs.log_facts import Explanation, LogFacts, hits_of
from envbuilder.diagnostics.logs.packages import MissingName, keras_rule, missing_name, releases_of_program
from envbuilder.diagnostics.logs.remedies_cuda import architecture, cudnn_version, driver_too_old, jit, missing_library
from envbuilder.diagnostics.logs.signatures import FailureClass

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_Sharpen: TypeAlias = "Callable[[LogFacts, Explanation], Explanation]"


def remedy(facts: LogFacts, failure: FailureClass) -> Explanation:
    """Return the text of the strongest signature, else of the class, with the figures and releases of this log."""
    hits = hits_of(facts, failure.id)
    plain = Explanation(
        cause=_filled("cause", failure.cause, hits),
        fix=_filled("fix", failure.fix, hits),
        commands=_commands(failure, hits),
    )
    plain = _for_release(facts, failure, plain)
    sharpen = _SHARPER.get(failure.id)
    return sharpen(facts, plain) if sharpen else plain


def _for_release(facts: LogFacts, failure: FailureClass, plain: Explanation) -> Explanation:
    """Return the remedy that holds for the release of the log, or all that write its messages, if there are several."""
    extracted = facts.extracted
    if plain.fix != failure.fix:
        return plain
    fitting = next(
        (
            fix
            for fix in failure.fixes
            if (
                fix.holds_for(extracted.tensorflow)
                if extracted.tensorflow
                else fix.holds_between(extracted.since, extracted.until)
            )
        ),
        None,
    )
    return replace(plain, fix=fitting.text, commands=fitting.commands) if fitting else plain


def _filled(field: str, general: str, hits: tuple[Hit, ...]) -> str:
    for hit in hits:
        template: str = getattr(hit.signature, field)
        text = _fill(template, hit) if template else ""
        if text:
            return text
    return general


def _fill(template: str, hit: Hit) -> str:
    """Return the template filled with captures; empty if one is missing."""
    for sample in hit.samples:
        known = {**sample.captured}
        known.setdefault("gpu", "The GPU")
        if "soname2" in known:
            known.setdefault("soname", known["soname2"])
        if all(name in known for name in _PLACEHOLDER.findall(template)):
            return _PLACEHOLDER.sub(lambda match, known=known: known[match[1]], template)  # type: ignore[misc]
    return ""


def _commands(failure: FailureClass, hits: tuple[Hit, ...]) -> tuple[str, ...]:
    for hit in hits[:1]:
        filled = tuple(_fill(command, hit) for command in hit.signature.commands)
        if filled and all(filled):
            return filled
    return failure.commands


_KERAS_OWN = (
    "keras-import-name",
    "keras-attribute",
    "keras-module-missing",
    "keras-conflict",
    "keras-import-name-eager",
)
_WHERE = "python -c 'import tensorflow as tf; print(tf.__version__, tf.__file__)'"
_V1 = "import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()"


def keras(facts: LogFacts, plain: Explanation) -> Explanation:
    """Return the releases that a program was written for, or the Keras for the TensorFlow of the log."""
    rule = keras_rule(facts)
    if rule is not None and not rule.works:
        return _keras_pair(facts, plain, rule.reason)
    missing = missing_name(facts)
    if missing is not None:
        return _written_for(facts, plain, missing)
    if rule is None and _is_about_keras(facts):
        return _keras_of(facts, plain)
    return plain


def _keras_pair(facts: LogFacts, plain: Explanation, reason: str) -> Explanation:
    """Return the remedy for a Keras and a TensorFlow that are known not to work together."""
    extracted = facts.extracted
    tensorflow = Version(str(extracted.tensorflow))
    newest = facts.catalog.keras.newest(tensorflow, SpecifierSet())
    cause = f"Keras {extracted.keras} does not work with TensorFlow {extracted.tensorflow}: {reason}."
    ask = f"envbuilder advise --tensorflow {extracted.tensorflow} --keras {extracted.keras}"
    if newest is None:
        fix = "Use tf.keras, which is a part of this TensorFlow, instead of the package keras."
        return replace(plain, cause=cause, fix=fix, commands=("pip uninstall keras", ask))
    fix = f"Install Keras {newest[0]}, the newest that is known to work with TensorFlow {extracted.tensorflow}."
    return replace(plain, cause=cause, fix=fix, commands=(f"pip install 'keras=={newest[0]}'", ask))


def _written_for(facts: LogFacts, plain: Explanation, missing: MissingName) -> Explanation:
    """Return the remedy for a missing public name: the releases that have it."""
    running = facts.extracted.tensorflow
    if not missing.releases:
        api = facts.api().releases
        cause = f"No release of TensorFlow from {api[0]} to {api[-1]} has {missing.name}."
        fix = "It was removed before, it belongs to another package, or it is misspelled: look at that line."
        return replace(plain, cause=cause, fix=fix, commands=(_WHERE,))
    releases, names = releases_of_program(facts, missing)
    span = _span(facts, releases)
    if running and any(release.head(2) == running.head(2) for release in missing.releases):
        cause = f"TensorFlow {running} has {missing.name}: what Python imported is not a whole TensorFlow {running}."
        fix = "See which file is imported. If it is a file of your own, rename it; else reinstall TensorFlow."
        return replace(plain, cause=cause, fix=fix, commands=(_WHERE, "python -m pip check"))
    this = f"; this is {running}" if running else ""
    cause = f"The program uses {_joined(names)}, which TensorFlow has only {_when(span)}{this}."
    if len(names) > 1:
        cause = f"The program uses {_joined(names)}, which TensorFlow has together only {_when(span)}{this}."
    return _environment_for(facts, replace(plain, cause=cause), missing, releases)


def _environment_for(
    facts: LogFacts, plain: Explanation, missing: MissingName, releases: tuple[Release, ...]
) -> Explanation:
    # If the log does not name its release, the newest release for the program is the closest to current ones.
    offer = nearest(facts, within=releases, tensorflow=facts.extracted.tensorflow or releases[-1])
    row = offer.row
    fix = f"Run it with TensorFlow {_span(facts, releases)}"
    fix += f": {row.id} is the nearest environment that can be built.{offer.note}" if row else f".{offer.note}"
    commands = (_WHERE, *((build(row),) if row else (f"envbuilder advise --tensorflow {releases[-1]}",)))
    if _is_in_compat(missing, releases):
        fix += f" To stay on TensorFlow 2, replace the import by `{_V1}`."
    return replace(plain, fix=fix, commands=commands)


def _is_in_compat(missing: MissingName, releases: tuple[Release, ...]) -> bool:
    """Return True if the name ended with TensorFlow 1 and is in `tf.compat.v1`, that is all but `tf.contrib`."""
    return releases[-1] == Release("1.15") and not missing.name.startswith("tf.contrib")


def _span(facts: LogFacts, releases: tuple[Release, ...]) -> str:
    """Return releases in words; open if the map of names begins or ends there."""
    known = facts.api().releases
    if releases[0] == known[0]:
        return f"up to {releases[-1]}"
    if releases[-1] == known[-1]:
        return f"from {releases[0]} on"
    return span(releases)


def _when(span: str) -> str:
    return span if span.startswith(("up to", "from")) else f"in {span}"


def _joined(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _is_about_keras(facts: LogFacts) -> bool:
    """Return True if the message is about the package Keras, and not about a file that it cannot load."""
    return any(hit.signature.id in _KERAS_OWN for hit in hits_of(facts, "keras-tf-mismatch")) and not facts.has(
        "keras3-not-supported", "eager-incompatible"
    )


def _keras_of(facts: LogFacts, plain: Explanation) -> Explanation:
    """Return the Keras for a TensorFlow, if the log does not name the installed Keras."""
    tensorflow = facts.extracted.tensorflow
    found = facts.catalog.keras.newest(Version(str(tensorflow)), SpecifierSet()) if tensorflow else None
    if tensorflow is None or found is None:
        return plain
    major, minor = tensorflow.head(2)
    wanted = f"keras=={major}.{minor}.*" if Release("2.6") <= tensorflow < Release("2.16") else f"keras=={found[0]}"
    fix = f"TensorFlow {tensorflow} goes with {wanted}; see which one is installed."
    return replace(plain, fix=fix, commands=("python -m pip list | grep -i keras", f"pip install '{wanted}'"))


def pinned(package: str) -> Callable[[LogFacts, Explanation], Explanation]:
    """Return a remedy that names the releases of a package that the row allows."""

    def sharpen(facts: LogFacts, plain: Explanation) -> Explanation:
        row = facts.row
        requirement = bound(row, package) if row else ""
        if row is None or not requirement:
            return plain
        fix = f"TensorFlow {facts.extracted.tensorflow or row.framework.version} needs {requirement}."
        install = f"pip install '{requirement}'"
        if not facts.can_build(row):
            return replace(plain, fix=fix, commands=(install,))
        return replace(plain, fix=f"{fix} {row.id} has it.", commands=(install, build(row)))

    return sharpen


def python(facts: LogFacts, plain: Explanation) -> Explanation:
    """Return the remedy for an interpreter: those that the release has wheels for."""
    row, extracted = facts.row, facts.extracted
    if row is not None and extracted.tensorflow is not None:
        names = ", ".join(str(each) for each in row.pythons)
        fix = f"TensorFlow {extracted.tensorflow} has wheels for Python {names}"
        fix += f"; this is {extracted.python}." if extracted.python else "."
        run = f" Use one of them, or run {row.id}." if facts.can_build(row) else " Use one of them."
        commands = (*plain.commands[:2], *((build(row),) if facts.can_build(row) else ()))
        return replace(plain, fix=fix + run, commands=commands)
    rows = (
        [row for row in rows_for_python(facts.catalog, extracted.python) if facts.can_build(row)]
        if extracted.python
        else []
    )
    if rows:
        fix = f"Environments with Python {extracted.python}: {rows[-1].id} to {rows[0].id}."
        return replace(plain, fix=f"{plain.fix} {fix}", commands=(*plain.commands[:2], build(rows[0])))
    return plain


def avx(facts: LogFacts, plain: Explanation) -> Explanation:
    """Return the newest environment that does not need the instructions."""
    rows = [row for row in facts.catalog.environments if not row.framework.needs_avx and facts.can_build(row)]
    if not rows:
        return plain
    fix = f"{plain.fix} {rows[-1].id} is the newest environment without AVX."
    return replace(plain, fix=fix, commands=(*plain.commands, build(rows[-1])))


def glibc(facts: LogFacts, plain: Explanation) -> Explanation:
    """Return the image of the release, with a system that is new enough."""
    row = facts.row
    if row is None or not facts.can_build(row):
        return replace(plain, commands=(*plain.commands, "envbuilder list"))
    fix = f"{row.id} has a system that is new enough: run it in that image. Never replace the system's libc."
    return replace(plain, fix=fix, commands=(*plain.commands, build(row)))


_SHARPER: dict[str, _Sharpen] = {
    "driver-too-old": driver_too_old,
    "cuda-soname-missing": missing_library,
    "cudnn-missing": missing_library,
    "cudnn-version-mismatch": cudnn_version,
    "gpu-arch-unsupported": architecture,
    "ptx-jit": jit,
    "protobuf-mismatch": pinned("protobuf"),
    "numpy-abi": pinned("numpy"),
    "h5py-decode": pinned("h5py"),
    "setuptools-pkg-resources": pinned("setuptools"),
    "wrong-python-version": python,
    "cpu-no-avx": avx,
    "keras-tf-mismatch": keras,
    "glibc-too-old": glibc,
}
