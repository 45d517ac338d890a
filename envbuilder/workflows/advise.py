"""What is wanted, or a host, to advice."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.advising.advise import advise, every
from envbuilder.model.advice import Advice, Answer, Wanted
from envbuilder.model.hosts import Host, HostGpu
from envbuilder.model.rows import Catalog, Environment
from envbuilder.model.versions import Release


def recommend(catalog: Catalog, wanted: Wanted) -> Answer:
    """Environments that fit what is wanted and every machine; else the nearest."""
    return advise(catalog, wanted)


def described(driver: Release | None, gpus: tuple[HostGpu, ...]) -> tuple[Host, ...]:
    """The machine that was only described; none when nothing was said of it."""
    return (Host(name="", driver=driver, gpus=gpus or None, is_described=True),) if driver or gpus else ()


def fitting_rows(catalog: Catalog, hosts: tuple[Host, ...]) -> dict[str, Advice]:
    """The best that each row can do on hosts, by the id of the row."""
    best: dict[str, Advice] = {}
    without = frozenset(row.id for row in catalog.environments if row.cuda is None)
    for advice in every(catalog, Wanted(hosts=hosts)):
        if advice.environment not in without:
            best.setdefault(advice.environment, advice)
    # A row without a GPU is none the worse for one that is there.
    for advice in every(catalog, Wanted(hosts=hosts, cpu=True)):
        best.setdefault(advice.environment, advice)
    return best


def fitting_bases(catalog: Catalog, row: Environment, host: Host) -> dict[str, Advice]:
    """What a row does on a host, by the id of the base, in the row's order of preference."""
    found = {advice.base: advice for advice in every(replace(catalog, environments=(row,)), Wanted(hosts=(host,)))}
    return {choice.system.id: found[choice.system.id] for choice in row.bases if choice.system.id in found}
