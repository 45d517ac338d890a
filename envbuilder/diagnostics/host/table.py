"""The table of all findings, and the whole examination of a machine and its installed versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from envbuilder.catalog.buildable import Inventory
from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.offers import Offer, offer
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.facts.machine import host_of
from envbuilder.diagnostics.findings import Finding, Severity
from envbuilder.diagnostics.host import (
    driver,
    environment_findings,
    environment_variables,
    gpus,
    library_findings,
    machine,
    node,
    package_findings,
)
from envbuilder.diagnostics.host.environment import HostEnvironment
from envbuilder.diagnostics.host.examination import Examination, InstalledTensorFlow, Versions
from envbuilder.diagnostics.host.installation import Installation
from envbuilder.diagnostics.host.installed import Installed
from envbuilder.diagnostics.host.machine_view import MachineView
from envbuilder.diagnostics.host.missing_facts import missing_facts
from envbuilder.diagnostics.host.nearest_environment import SHOWN, nearest
from envbuilder.lock.closures import Closure

Closures: TypeAlias = Callable[[str], tuple[Closure, ...]]

_VERSION_FINDINGS: tuple[Callable[[Installation], Iterator[Finding]], ...] = (
    package_findings.import_fails,
    package_findings.files_missing,
    package_findings.two_tensorflows,
    package_findings.packages_break_import,
    package_findings.keras_unfit,
    library_findings.libraries_missing,
    library_findings.cudnn_unfit,
    library_findings.no_gpu_device,
    library_findings.cpu_build,
    library_findings.libraries_mixed,
    package_findings.known_traps,
    package_findings.additions_missing,
    package_findings.requirements_unmet,
    package_findings.not_in_catalog,
)


def case_of(catalog: Catalog, facts: Facts, environments: tuple[Offer, ...], closures: Closures) -> Installation:
    """Return the input of the findings."""
    wheels = [row.framework for row in catalog.environments]
    others = [other for wheel in wheels for other in wheel.others]
    names = frozenset((*(wheel.package for wheel in wheels), *(other.package for other in others)))
    installed, host = Installed(facts=facts, names=names), host_of(facts)
    near = nearest(catalog, installed, closures, gpus=bool(host.gpus)) if installed.is_seen else None
    return Installation(installed=installed, catalog=catalog, host=host, environments=environments, nearest=near)


def version_findings(installation: Installation) -> tuple[Finding, ...]:
    """Return findings about installed versions, in the order of the table; empty without TensorFlow."""
    if not installation.installed.frameworks and not installation.installed.has_files:
        return ()
    return tuple(finding for examine in _VERSION_FINDINGS for finding in examine(installation))


def _versions_of(installation: Installation) -> Versions | None:
    """Return the installed versions; None if they were not examined."""
    installed = installation.installed
    if not installed.is_seen:
        return None
    packages = installed.packages
    return Versions(
        python=installed.interpreter.version if installed.interpreter else None,
        executable=installed.interpreter.executable if installed.interpreter else "",
        tensorflow=_tensorflow(installation) if installed.frameworks or installed.has_files else None,
        builtin_keras=installed.builtin_keras,
        packages=tuple((name, packages[name].version if name in packages else "") for name in SHOWN),
        libraries=installed.libraries,
        nearest=installation.nearest,
    )


def _tensorflow(installation: Installation) -> InstalledTensorFlow:
    installed = installation.installed
    files = installed.software.tensorflow if installed.software else None
    cuda, cudnn, told_by = _build(installation)
    return InstalledTensorFlow(
        packages=tuple(f"{each.name} {each.version}" for each in installed.frameworks),
        version=str(installed.release) if installed.release else None,
        cuda_build=installed.is_cuda_build,
        cuda=cuda,
        cudnn=cudnn,
        told_by=told_by,
        folder=files.folder if files else installed.imported.path if installed.imported else "",
    )


def _build(installation: Installation) -> tuple[Release | None, Release | None, str]:
    """Return CUDA and cuDNN of the build, and their sources."""
    installed = installation.installed
    if not installed.is_cuda_build:
        return None, None, ""
    measured = installation.row.cuda if installation.row and installation.is_catalog_build else None
    if measured is None:
        return installed.cuda, installed.cudnn, "build_info" if installed.cuda else ""
    if installed.cuda is None:
        return measured.compiled, measured.cudnn.compiled, "catalog"
    return installed.cuda, measured.cudnn.compiled, "build_info, catalog"


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
    environment_variables.visible_devices,
    environment_variables.driver_capabilities,
    environment_variables.nvidia_visible_devices,
    environment_variables.foreign_libraries,
    environment_variables.no_kernel_cache,
    machine.no_avx,
    machine.other_processor,
    machine.little_memory,
    machine.little_disk,
    machine.little_shm,
    node.file_system_silent,
    node.temporary_not_writable,
    node.little_temporary,
    node.home_not_writable,
    node.root_squash,
    node.home_without_locks,
    node.no_user_namespaces,
    node.no_route_out,
    environment_findings.engine_without_gpus,
    environment_findings.engine_silent,
    environment_findings.nothing_runs_images,
    environment_findings.engine_old,
    environment_findings.engine_disk,
    environment_findings.ca_bundle_gone,
    environment_findings.source_silent,
    environment_findings.source_fails,
    driver.no_gpu,
    driver.forward_compatibility,
    driver.lent_gpus,
    gpus.gpus_differ,
    gpus.ecc,
    gpus.persistence,
    environment_variables.memory_settings,
    node.login_node,
    node.read_only_image,
    node.clock_not_synchronized,
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

    `host_environment` is None if it was not examined; `inventory` has the parts available to a build on this machine,
    `closures` returns the packages that ship with a row.
    """
    view, host = MachineView(facts=facts, host_environment=host_environment), replace(host_of(facts), name="")
    environments = tuple(offer(catalog.cuda, row, host, inventory) for row in catalog.environments)
    case = case_of(catalog, facts, environments, closures)
    return Examination(
        findings=_worst_first((*version_findings(case), *findings(view))),
        unseen=missing_facts(view),
        environments=environments,
        versions=_versions_of(case),
    )
