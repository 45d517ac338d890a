"""All commands give the verdict of the one judge: a grid of drivers, GPUs, environments and bases."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from envbuilder.catalog.advise.advice import Advice, Query, Verdict
from envbuilder.catalog.advise.recommend import every
from envbuilder.catalog.buildable import Buildability, Inventory, on_base
from envbuilder.catalog.compatibility import judge, judge_stack
from envbuilder.catalog.environments import BaseChoice, Environment
from envbuilder.catalog.expectation import CudaExpectation
from envbuilder.catalog.machine import Host
from envbuilder.catalog.verdicts import Compatibility, Fit, stack_of
from envbuilder.core.versions import Release
from envbuilder.diagnostics.checks.driver import driver_floor
from envbuilder.diagnostics.checks.gpu import gpu_architecture_covered
from envbuilder.diagnostics.checks.results import Failed
from envbuilder.diagnostics.compare.gpus import verdict_of
from envbuilder.diagnostics.compare.systems import system_of_facts
from envbuilder.diagnostics.facts.facts import Facts, Gpu, Seen
from envbuilder.diagnostics.facts.machine import host_of
from envbuilder.diagnostics.host.table import examine_machine
from envbuilder.diagnostics.preflight import misfits
from envbuilder.diagnostics.probe.decoding import decode
from tests.fakes.catalogs import real_catalog, real_row
from tests.fakes.hosts import FakeGpu, host_document
from tests.unit.diagnostics.logs.logs import judged

CATALOG = real_catalog()
TABLES = CATALOG.cuda
DRIVERS = (
    "375.26", "384.81", "410.48", "418.39", "440.33", "450.51", "450.51.06", "450.80.02", "455.23", "460.32.03",
    "470.57.02", "495.29.05", "515.65.01", "520.61.05", "525.60.13", "535.104.05", "545.23.06", "550.54.15",
    "555.42.06", "570.124.06", "580.95.05", "590.44.01",
)  # fmt: skip
GPUS = (
    FakeGpu(name="Tesla K80", capability="3.7"),
    FakeGpu(name="Tesla M60", capability="5.2"),
    FakeGpu(name="NVIDIA GeForce GTX 1080 Ti", capability="6.1"),
    FakeGpu(name="Tesla P100-PCIE-16GB", capability="6.0"),
    FakeGpu(name="Tesla V100-SXM2-16GB", capability="7.0"),
    FakeGpu(name="NVIDIA TITAN V", capability="7.0"),
    FakeGpu(name="Tesla T4", capability="7.5"),
    FakeGpu(name="NVIDIA A100-SXM4-40GB", capability="8.0"),
    FakeGpu(name="NVIDIA GeForce RTX 3090", capability="8.6"),
    FakeGpu(name="NVIDIA L4", capability="8.9"),
    FakeGpu(name="NVIDIA H100 PCIe", capability="9.0"),
    FakeGpu(name="NVIDIA B200", capability="10.0"),
    FakeGpu(name="NVIDIA GeForce RTX 5090", capability="12.0"),
)
# A third of all pairs, with each driver and each GPU in several.
MACHINES = tuple(itertools.product(DRIVERS, GPUS))[::3]
ROWS = tuple(row for row in CATALOG.environments if row.cuda is not None)


def facts_of(driver: str, gpu: FakeGpu) -> Facts:
    """What the probe sees there: by NVML, and by the driver's library."""
    facts = decode(host_document(driver, [gpu]), "host.json")
    assert isinstance(facts.driver, Seen)
    assert isinstance(facts.driver.value.interface, Seen)
    shown = (Gpu(index=0, name=gpu.name, capability=Release(gpu.capability), memory=gpu.total, error=""),)
    interface = Seen(value=replace(facts.driver.value.interface.value, gpus=shown))
    return replace(facts, driver=Seen(value=replace(facts.driver.value, interface=interface)))


def machine_of(driver: str, gpu: FakeGpu) -> Host:
    return replace(host_of(facts_of(driver, gpu)), name="")


def every_base() -> Iterator[tuple[Environment, BaseChoice]]:
    return ((row, choice) for row in ROWS for choice in row.bases)


def name_of(machine: tuple[str, FakeGpu]) -> str:
    return f"{machine[0]}-{machine[1].name}"


@pytest.mark.parametrize("machine", MACHINES, ids=map(name_of, MACHINES))
def test_every_command_gives_the_verdict_of_the_judge(machine: tuple[str, FakeGpu]) -> None:
    facts, host = facts_of(*machine), machine_of(*machine)
    advised = {
        (each.environment, each.base, each.python): each
        for each in every(CATALOG, Query(hosts=(host,)))
        if each.is_own_release
    }

    assert [odd for odd in every_base() if not agree(*odd, host, facts, advised)] == []


@pytest.mark.parametrize("machine", MACHINES, ids=map(name_of, MACHINES))
def test_doctor_and_the_list_have_the_verdict_for_the_base_that_they_name(machine: tuple[str, FakeGpu]) -> None:
    facts, host = facts_of(*machine), machine_of(*machine)
    for each in examine_machine(CATALOG, facts, None, Inventory()).environments:
        verdict = each.compatibility
        row = real_row(verdict.environment)
        choice = next(choice for choice in row.bases if choice.system.id == verdict.base)
        assert verdict == judge(TABLES, row, choice, host)
        assert each.buildable == on_base(row, choice, Inventory())


def agree(
    row: Environment, choice: BaseChoice, host: Host, facts: Facts, advised: Mapping[tuple[str, str, Release], Advice]
) -> bool:
    """Whether `advise`, the warning before `build`, `validate` and `compare` say what the judge says."""
    verdict = judge(TABLES, row, choice, host)
    advice = advised[row.id, choice.system.id, choice.python]
    warned = bool(misfits(CATALOG, row.id, choice.system.id, host))
    seen_inside = inside(row, choice, host)
    return (
        advice.fit is verdict.fit
        and (advice.verdict is Verdict.NOT) == (verdict.fit is Fit.NO)
        and (advice.is_doubtful and advice.verdict is Verdict.COST) == (verdict.fit is Fit.UNKNOWN)
        and warned == (verdict.fit is Fit.NO)
        and validate_fails(row, choice, facts) == (seen_inside.fit is Fit.NO)
        and compared(row, choice, facts) == seen_inside
    )


def inside(row: Environment, choice: BaseChoice, host: Host) -> Compatibility:
    """The verdict on what a process in the image sees: which driver library is in use is known there."""
    return judge_stack(TABLES, replace(stack_of(row, choice), base="", has_compat_library=False), host)


def validate_fails(row: Environment, choice: BaseChoice, facts: Facts) -> bool:
    stack = stack_of(row, choice)
    assert stack.need is not None
    assert stack.cuda is not None
    assert stack.cudnn is not None
    expectation = CudaExpectation(
        need=stack.need, release=stack.cuda, cudnn_release=stack.cudnn, sonames=(), stack=stack, tables=TABLES
    )
    outcomes = (driver_floor(expectation, facts), gpu_architecture_covered(expectation, facts))
    return any(isinstance(outcome, Failed) for outcome in outcomes)


def compared(row: Environment, choice: BaseChoice, facts: Facts) -> Compatibility | None:
    side = replace(system_of_facts(facts, "host.json"), environment=row.id, cuda=choice.cuda, cudnn=choice.cudnn)
    return verdict_of(CATALOG, side)


BUILD = "envbuilder build tf-"
TOO_OLD = """\
TensorFlow version {version}
NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  Sun Oct 18 01:00:00 UTC 2020
pciBusID: 0000:01:00.0 name: {gpu} computeCapability: {capability}
InternalError: cudaGetDevice() failed. Status: CUDA driver version is insufficient for CUDA runtime version
"""
NO_CODE = """\
TensorFlow version {version}
NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  Sun Oct 18 01:00:00 UTC 2020
pciBusID: 0000:01:00.0 name: {gpu} computeCapability: {capability}
failed call to cuLaunchKernel: no kernel image is available for execution on the device
"""
FORMS = {"driver": TOO_OLD, "code": NO_CODE}
LOGS = [
    (form, version, *machine)
    for form in FORMS
    for version in ("1.14.0", "2.4.1", "2.12.0", "2.20.0")
    for machine in MACHINES[::4]
]


@pytest.mark.parametrize(
    ("form", "version", "driver", "gpu"),
    LOGS,
    ids=[f"{form}-{version}-{driver}-{gpu.name}" for form, version, driver, gpu in LOGS],
)
def test_a_remedy_of_diagnose_is_an_environment_that_runs_there_and_can_be_built(
    form: str, version: str, driver: str, gpu: FakeGpu
) -> None:
    text = FORMS[form].format(version=version, driver=driver, gpu=gpu.name, capability=gpu.capability)
    found = judged(text, inventory=Inventory())
    assert found.causes
    for cause in found.causes:
        # A remedy that says that a newer driver is needed too is judged for a machine that has it.
        updated = "needs a newer driver than" in cause.finding.remedy
        host = replace(machine_of(driver, gpu), driver=None, cuda=None, is_described=True)
        machine = host if updated else machine_of(driver, gpu)
        for command in (each for each in cause.commands if each.startswith(BUILD)):
            assert can_be_had(command.split()[2], machine), (command, cause.finding.remedy)


def can_be_had(environment: str, machine: Host) -> bool:
    row = real_row(environment)
    return any(
        judge(TABLES, row, choice, machine).fit is not Fit.NO
        and on_base(row, choice, Inventory()).verdict is not Buildability.NO
        for choice in row.bases
    )
