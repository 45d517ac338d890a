"""Verdicts of compatibility: their colours, their JSON objects, and the machines that they are about."""

from __future__ import annotations

from typing import Any

from envbuilder.catalog.driver_requirements import DriverNeed
from envbuilder.catalog.machine import Host
from envbuilder.catalog.offers import Offer
from envbuilder.catalog.verdicts import Fit, GpuCompatibility, Reason
from envbuilder.cli.documents import gpus
from envbuilder.cli.output.terminal import Meaning
from envbuilder.core.structure import document_of
from envbuilder.core.versions import Release

COLOURS = {
    Fit.FITS: Meaning.GOOD,
    Fit.JIT: Meaning.GOOD,
    Fit.UNKNOWN: Meaning.DOUBTFUL,
    Fit.CPU_ONLY: Meaning.NEUTRAL,
    Fit.NO: Meaning.BAD,
}


def host_text(host: Host) -> str:
    """Return a machine in words."""
    driver = [f"driver {host.driver}"] if host.driver else []
    names = [gpu.name or str(gpu.capability or "unknown GPU") for gpu in host.gpus or ()]
    gpus = [f"{names.count(name)} x {name}" if names.count(name) > 1 else name for name in dict.fromkeys(names)]
    inside = ", ".join([*driver, *gpus] if gpus or host.gpus is None else [*driver, "no GPU"])
    return f"{host.name} ({inside or 'nothing known'})" if host.name else inside


def offer_document(offer: Offer) -> dict[str, Any]:
    """Return an environment on its best base as a JSON object."""
    verdict = offer.compatibility
    return document_of(
        gpus.Offer,
        verdict,
        reasons=map(_reason, verdict.reasons),
        gpus=map(_gpu, verdict.gpus),
        driver=_least(verdict.driver),
        buildable=offer.buildable,
    )


def _gpu(kind: GpuCompatibility) -> dict[str, Any]:
    return document_of(
        gpus.GpuVerdict,
        kind,
        name=kind.gpu.name,
        code=kind.support.coverage if kind.support else None,
        reasons=map(_reason, kind.reasons),
        driver=_least(kind.driver),
    )


def _least(driver: DriverNeed | None) -> Release | None:
    return driver.least if driver and driver.known else None


def _reason(reason: Reason) -> dict[str, Any]:
    return document_of(gpus.Reason, reason, caveat=reason.is_caveat)
