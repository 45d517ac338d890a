"""Output of advice: text, and the document of `--json`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import click

from envbuilder.catalog.advise.advice import Advice, Query, Recommendation, Verdict, Weight
from envbuilder.catalog.gpus import VendorBuild
from envbuilder.cli.documents import advice as documents
from envbuilder.cli.output.compatibility import host_text
from envbuilder.cli.output.printing import folded, heading, printed, shell_lines
from envbuilder.cli.output.terminal import Meaning
from envbuilder.core.structure import document_of

_MARKS = {Weight.FOR: "+", Weight.COST: "~", Weight.AGAINST: "-"}
_COLOURS = {Weight.FOR: Meaning.GOOD, Weight.COST: Meaning.DOUBTFUL, Weight.AGAINST: Meaning.BAD}
_VERDICTS = {Verdict.FITS: "fits", Verdict.COST: "fits, at a cost", Verdict.NOT: "does not fit"}
_LEGEND = "+ in favour   ~ at a cost   - rules it out"


def recommendation_text(found: Recommendation, asked: str, limit: int, columns: int) -> str:
    """Return a recommendation as text.

    `asked` is empty if there were no conditions.
    """
    return "\n".join(text for line in _lines(found, asked, limit) for text in _fitting(line, columns))


def _fitting(line: str, columns: int) -> Iterator[str]:
    prompt, is_command, command = line.partition("$ ")
    if is_command and not prompt.strip():
        yield from shell_lines(command, columns, first=prompt + is_command)
    else:
        yield line if printed(line) <= columns else folded(line, columns)


def _lines(found: Recommendation, asked: str, limit: int) -> Iterator[str]:
    shown = (found.fitting or found.nearest)[:limit]
    if asked:
        yield f"Asked for: {asked}"
        yield ""
    yield heading(_headline(found, asked))
    for number, advice in enumerate(shown, 1):
        yield ""
        yield from _advice_lines(number, advice)
    yield from _elsewhere_lines(found.elsewhere)
    left = len(found.fitting or found.nearest) - len(shown)
    legend = _LEGEND if any(advice.reasons for advice in shown) else ""
    more = f"({left} more: --limit N)" if left > 0 else ""
    if legend or more:
        yield ""
        yield "   ".join(filter(None, (legend, more)))


def _headline(found: Recommendation, asked: str) -> str:
    if not found.fitting:
        return "No environment fits. The nearest environments and what to change, smallest change first:"
    rows = len({advice.environment for advice in found.fitting})
    if not asked:
        return "No requirements given; the best proven and newest environments come first:"
    if found.fitting[0].is_doubtful:
        return f"No environment is proven to fit; {rows} environment{'' if rows == 1 else 's'} may, best first:"
    return f"{rows} environment{'' if rows == 1 else 's'} of the catalog fit{'s' if rows == 1 else ''}, best first:"


def _advice_lines(number: int, advice: Advice) -> Iterator[str]:
    yield f"{number}. {heading(advice.environment)}"
    yield f"   {contents(advice)}"
    yield f"   {_standing(advice)}"
    for change in advice.changes:
        yield f"   {click.style('change:', fg=Meaning.DOUBTFUL)} {change.text}"
    order = (Weight.AGAINST, Weight.COST, Weight.FOR)
    for reason in sorted(advice.reasons, key=lambda reason: order.index(reason.weight)):
        yield f"     {click.style(_MARKS[reason.weight], fg=_COLOURS[reason.weight])} {reason.text}"
    for step in advice.steps:
        yield f"   $ {step}" if not step.startswith("#") else f"     {step}"


def contents(advice: Advice) -> str:
    """Return the content of an environment on one line."""
    cuda = f", CUDA {advice.cuda}, cuDNN {advice.cudnn}" if advice.cuda else ", no GPU"
    return f"TensorFlow {advice.tensorflow}{cuda}, Python {advice.python}, {advice.base}"


def _standing(advice: Advice) -> str:
    verdict = _VERDICTS[advice.verdict]
    if advice.verdict is Verdict.COST and advice.is_doubtful:
        verdict = "may fit: not everything is proven"
    driver = f"; driver {advice.driver} or later" if advice.driver else ""
    return f"{verdict}; proven: {advice.proven.value}{driver}"


def _elsewhere_lines(builds: tuple[VendorBuild, ...]) -> Iterator[str]:
    for build in builds:
        yield ""
        yield heading(f"Outside the catalog: NVIDIA's container {build.name}")
        span = f"for {build.oldest} to {build.newest}"
        yield f"   TensorFlow {build.tensorflow}, Python {build.python}: {build.what}; {span}"


def asked_text(query: Query) -> str:
    """Return the conditions in words; empty if there were none."""
    conditions = (
        ("TensorFlow ", query.tensorflow and query.tensorflow.text),
        ("Python ", query.python),
        ("Keras ", query.keras and query.keras.text),
        ("CUDA ", query.cuda and query.cuda.text),
        ("cuDNN ", query.cudnn and query.cudnn.text),
        ("glibc ", query.glibc),
        ("base ", query.base),
    )
    words = [f"{name}{value}" for name, value in conditions if value]
    seen = [host for host in query.hosts if not host.is_described]
    named = [host for host in query.hosts if host.is_described]
    together = (
        [replace(named[0], gpus=tuple(gpu for host in named for gpu in host.gpus or ()) or None)] if named else []
    )
    return "; ".join([*words, *(["no GPU"] if query.cpu else []), *(host_text(host) for host in (*together, *seen))])


def recommendation_document(found: Recommendation, asked: str, limit: int) -> dict[str, Any]:
    """Return a recommendation as a JSON document."""
    return document_of(
        documents.Recommendation,
        found,
        asked=asked,
        fits=map(_advice_document, found.fitting[:limit]),
        nearest=map(_advice_document, found.nearest[:limit]),
    )


def _advice_document(advice: Advice) -> dict[str, Any]:
    return document_of(documents.Advice, advice, doubtful=advice.is_doubtful, gpus=advice.coverage)
