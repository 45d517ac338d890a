"""The table of all findings, and the whole examination."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from envbuilder.catalog.buildable import Inventory
from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.offers import offer
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.facts.machine import host_of
from envbuilder.diagnostics.findings import Finding, Severity
from envbuilder.diagnostics.host import driver, gpus, machine, settings
from envbuilder.diagnostics.host import environment_findings as around
from envbuilder.diagnostics.host.environment import HostEnvironment
from envbuilder.diagnostics.host.examination import Examination
from envbuilder.diagnostics.host.machine_view import MachineView
from envbuilder.diagnostics.host.missing_facts import missing_facts
from envbuilder.diagnostics.host.versions import Closures, case_of, version_findings, versions_of

Examine: TypeAlias = Callable[[MachineView], Iterator[Finding]]

TABLE: tuple[Examine, ...] = (
    driver.container_without_gpu,
    driver.no_driver,
    driver.libcuda_missing,
    driver.driver_mismatch,
    driver.nouveau_loaded,
    driver.driver_silent,
    driver.nodes_denied,
    driver.uvm_missing,
    driver.stub_libcuda,
    driver.cuda_does_not_start,
    driver.wsl,
    gpus.gpu_faulty,
    gpus.gpu_held,
    gpus.compute_mode,
    gpus.mig,
    settings.visible_devices,
    settings.driver_capabilities,
    settings.nvidia_visible_devices,
    settings.foreign_libraries,
    settings.no_kernel_cache,
    machine.no_avx,
    machine.other_processor,
    machine.little_memory,
    machine.little_disk,
    machine.little_shm,
    around.engine_without_gpus,
    around.engine_silent,
    around.nothing_runs_images,
    around.engine_old,
    around.engine_disk,
    around.ca_bundle_gone,
    around.source_silent,
    around.source_fails,
    driver.no_gpu,
    driver.forward_compatibility,
    driver.lent_gpus,
    gpus.gpus_differ,
    gpus.ecc,
    gpus.persistence,
    settings.memory_settings,
)


def findings(view: MachineView) -> tuple[Finding, ...]:
    """Return all findings, worst first; within a severity in the order of the table."""
    return _worst_first(finding for examine in TABLE for finding in examine(view))


def _worst_first(found: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda finding: list(Severity).index(finding.severity)))


def examine_machine(
    catalog: Catalog,
    facts: Facts,
    host_environment: HostEnvironment | None,
    inventory: Inventory,
    closures: Closures = lambda _: (),
) -> Examination:
    """Examine a machine: problems of it and of its software, missing facts, and environments that run on it.

    Args:
        catalog: The environments, and the tables of drivers and GPUs.
        facts: Facts of the probe.
        host_environment: What stands around it; None when nobody looked.
        inventory: The parts available to a build on this machine.
        closures: The packages that ship with a row, by its id.
    """
    view, host = MachineView(facts=facts, host_environment=host_environment), replace(host_of(facts), name="")
    environments = tuple(offer(catalog.cuda, row, host, inventory) for row in catalog.environments)
    case = case_of(catalog, facts, environments, closures)
    return Examination(
        findings=_worst_first((*version_findings(case), *findings(view))),
        unseen=missing_facts(view),
        environments=environments,
        versions=versions_of(case),
    )
