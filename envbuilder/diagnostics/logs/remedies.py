"""Texts of cause and remedy, made specific by the log and the catalog."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from envbuilder.diagnostics.logs.evidence import Hit
from envbuilder.diagnostics.logs.explanations import Explanation
from envbuilder.diagnostics.logs.log_facts import LogFacts, hits_of
from envbuilder.diagnostics.logs.remedies_gpu import architecture, driver_too_old, jit
from envbuilder.diagnostics.logs.remedies_libraries import cudnn_version, missing_library
from envbuilder.diagnostics.logs.remedies_programs import avx, glibc, keras, pinned, python
from envbuilder.diagnostics.logs.signatures import FailureClass

_PLACE = re.compile(r"\{(\w+)\}")
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
    """Return the remedy that holds for the release of the log, if the class has several."""
    tensorflow = facts.extracted.tensorflow
    if tensorflow is None or plain.fix != failure.fix:
        return plain
    fitting = next((fix for fix in failure.fixes if fix.holds_for(tensorflow)), None)
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
        if all(name in known for name in _PLACE.findall(template)):
            return _PLACE.sub(lambda place, known=known: known[place[1]], template)  # type: ignore[misc]
    return ""


def _commands(failure: FailureClass, hits: tuple[Hit, ...]) -> tuple[str, ...]:
    for hit in hits[:1]:
        filled = tuple(_fill(command, hit) for command in hit.signature.commands)
        if filled and all(filled):
            return filled
    return failure.commands


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
