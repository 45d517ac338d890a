"""Verdicts of compatibility: their words, and their JSON objects."""

from __future__ import annotations

from envbuilder.catalog.offers import Offer
from envbuilder.catalog.verdicts import Aspect, Compatibility, Fit, GpuCompatibility, Reason
from envbuilder.cli.output.buildable import buildable_document

COLOURS = {Fit.FITS: "green", Fit.JIT: "green", Fit.UNKNOWN: "yellow", Fit.CPU_ONLY: "cyan", Fit.NO: "red"}
WORDS = {
    Fit.FITS: "fits",
    Fit.JIT: "fits, JIT",
    Fit.UNKNOWN: "unknown",
    Fit.CPU_ONLY: "CPU only",
    Fit.NO: "no",
}


def why(verdict: Compatibility) -> tuple[str, ...]:
    """Return the sentences that explain a verdict, without those that only confirm it."""
    reasons = verdict.deciding
    if verdict.fit is Fit.NO and any(reason.aspect is Aspect.GPU for reason in reasons):
        # No other driver helps a GPU without code for it.
        reasons = tuple(reason for reason in reasons if reason.aspect is not Aspect.DRIVER)
    if verdict.fit is Fit.FITS:
        reasons = tuple(reason for reason in reasons if reason.aspect is Aspect.GPU or reason.is_caveat)
    elif verdict.fit is Fit.JIT:
        reasons = (*reasons, *verdict.caveats)
    return tuple(dict.fromkeys(reason.text for reason in reasons))


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
