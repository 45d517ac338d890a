"""Verdicts of compatibility: their colours, and their JSON objects."""

from __future__ import annotations

from envbuilder.catalog.offers import Offer
from envbuilder.catalog.verdicts import Fit, GpuCompatibility, Reason
from envbuilder.cli.output.buildable import buildable_document
from envbuilder.cli.output.terminal import Meaning

COLOURS = {
    Fit.FITS: Meaning.GOOD,
    Fit.JIT: Meaning.GOOD,
    Fit.UNKNOWN: Meaning.DOUBTFUL,
    Fit.CPU_ONLY: Meaning.NEUTRAL,
    Fit.NO: Meaning.BAD,
}


def offer_document(offer: Offer) -> dict[str, object]:
    """Return an environment on its best base as a JSON object.

    Returns:
        Keys `environment`, `base`, `fit`, `reasons`, `gpus`, `driver`, `bare`, `buildable`.
    """
    verdict = offer.compatibility
    return {
        "environment": verdict.environment,
        "base": verdict.base,
        "fit": verdict.fit.value,
        "reasons": [_reason(each) for each in verdict.reasons],
        "gpus": [_gpu(each) for each in verdict.gpus],
        "driver": str(verdict.driver.least) if verdict.driver and verdict.driver.known else None,
        "bare": verdict.bare or None,
        "buildable": buildable_document(offer.buildable),
    }


def _gpu(kind: GpuCompatibility) -> dict[str, object]:
    return {
        "name": kind.gpu.name,
        "capability": str(kind.capability) if kind.capability else None,
        "fit": kind.fit.value,
        "code": kind.support.coverage.value if kind.support else None,
        "reasons": [_reason(each) for each in kind.reasons],
        "driver": str(kind.driver.least) if kind.driver and kind.driver.known else None,
    }


def _reason(reason: Reason) -> dict[str, object]:
    return {
        "aspect": reason.aspect.value,
        "rule": reason.rule.value,
        "fit": reason.fit.value,
        "text": reason.text,
        "caveat": reason.is_caveat,
        "change": reason.change or None,
        "sources": [source.text for source in reason.sources],
    }
