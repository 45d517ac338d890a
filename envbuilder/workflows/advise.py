"""What is wanted, or a host, to advice."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.advising.advise import advise, every
from envbuilder.model.advice import Advice, Answer, Wanted
from envbuilder.model.hosts import Host, HostGpu
from envbuilder.model.rows import Catalog
from envbuilder.model.versions import Release


def recommend(catalog: Catalog, wanted: Wanted) -> Answer:
    """Environments that fit what is wanted and every machine; else the nearest."""
    return advise(catalog, wanted)


def described(driver: Release | None, gpus: tuple[HostGpu, ...]) -> tuple[Host, ...]:
    """The machine that was only described; none when nothing was said of it."""
    return (Host(name="", driver=driver, gpus=gpus or None),) if driver or gpus else ()


def fitting_rows(catalog: Catalog, hosts: tuple[Host, ...]) -> dict[str, Advice]:
    """The best that each row can do on hosts, by the id of the row."""
    best: dict[str, Advice] = {}
    for advice in every(catalog, Wanted(hosts=hosts)):
        best.setdefault(advice.environment, advice)
    return best


def advice_for(catalog: Catalog, environment: str, base: str, host: Host) -> Advice | None:
    """What a row on one of its bases does on a host; None when there is no such row or base."""
    rows = tuple(row for row in catalog.environments if row.id == environment)
    found = every(replace(catalog, environments=rows), Wanted(hosts=(host,)))
    return next((advice for advice in found if advice.base == base), None)
