"""Interpreters for the tests: TensorFlow with what belongs to it, and whatever differs from it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from envbuilder.catalog.buildable import Buildability, Inventory
from envbuilder.catalog.machine import Host
from envbuilder.catalog.offers import Offer, offer
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.facts import Facts, Seen
from envbuilder.diagnostics.facts.host import CudaFile, Distribution, SoftwareFacts, TensorFlowFiles
from envbuilder.diagnostics.facts.machine import host_of
from envbuilder.diagnostics.host.examination import Examination
from envbuilder.diagnostics.host.installation import Installation
from envbuilder.diagnostics.host.table import case_of, examine_machine
from envbuilder.lock.resolve.shipped_closures import ClosureFolder
from tests.fakes.catalogs import MATRICES, real_catalog, real_row
from tests.unit.diagnostics.host.machines import NO_LIBCUDA, NO_NVML, facts, host

SITE = "/venv/lib/python3/site-packages"
SYSTEM = "/usr/lib/x86_64-linux-gnu"
INVENTORY = Inventory(standalone=Buildability.YES)
CLOSURES = ClosureFolder(folder=MATRICES / "locks")


def wheel(name: str, version: str, *requires: str, folder: str = SITE) -> Distribution:
    """A distribution; one whose name says so installed the files of TensorFlow or of Keras."""
    framework = name.startswith("tensorflow") and "estimator" not in name
    modules = ("tensorflow",) if framework else ("keras",) if name == "keras" else ()
    return Distribution(name=name, version=version, folder=folder, requires=requires, modules=modules)


def packages(**versions: str) -> tuple[Distribution, ...]:
    """Distributions by name and version."""
    return tuple(wheel(name.replace("_", "-"), version) for name, version in versions.items())


def cuda_files(row: str, *, without: str = "", via: str = "loader", folder: str = SYSTEM) -> tuple[CudaFile, ...]:
    """The libraries that a row opens, all but one."""
    need = real_row(row).cuda
    assert need
    return tuple(cuda_file(name, via=via, folder=folder) for name in need.sonames if name != without)


def cuda_file(name: str, *, via: str = "loader", folder: str = SYSTEM, version: str = "") -> CudaFile:
    """A library; the version is in the name of the file that it is a link to."""
    stem = name.partition(".so")[0]
    real = f"{folder}/{stem}.so.{version}" if version else f"{folder}/{name}"
    return CudaFile(name=name, path=f"{folder}/{name}", real=real, via=via)


def python(
    *distributions: Distribution,
    version: str = "3.8.18",
    cuda: str | None = None,
    info: tuple[tuple[str, str], ...] | None = None,
    files: tuple[CudaFile, ...] = (),
    needed: tuple[str, ...] = (),
    has_module: bool = True,
    has_gpu: bool = False,
    conda: str = "",
) -> Facts:
    """Facts of an interpreter.

    Args:
        distributions: What is installed.
        version: Of the interpreter.
        cuda: CUDA that TensorFlow was built with; None for a CPU build.
        info: What TensorFlow tells of its build instead.
        needed: CUDA libraries that TensorFlow is linked against.
        files: CUDA libraries.
        has_module: Whether TensorFlow's files are there.
        has_gpu: Whether the machine has one.
        conda: Directory of the libraries of a conda environment.
    """
    said = (("is_cuda_build", str(cuda is not None)), *((("cuda_version", cuda),) if cuda else ()))
    module = TensorFlowFiles(folder=f"{SITE}/tensorflow", info=said if info is None else info, keras="", needed=needed)
    software = SoftwareFacts(
        distributions=distributions, tensorflow=module if has_module else None, files=files, conda=conda
    )
    parts: dict[str, object] = {} if has_gpu else {
        "nvml": NO_NVML, "interface": NO_LIBCUDA, "module": None, "library": None, "host": host(bus=()),
    }  # fmt: skip
    interpreter = {"version": Release(version), "executable": "/venv/bin/python"}
    seen = facts(interpreter=interpreter, **parts)  # type: ignore[arg-type]
    return replace(seen, software=Seen(value=software))


def case(seen: Facts) -> Installation:
    """What the findings are made from."""
    return case_of(real_catalog(), seen, _offers(host_of(seen)), CLOSURES.read)


@cache
def _offers(machine: Host) -> tuple[Offer, ...]:
    """What runs on a machine and can be built; the tests have two machines."""
    catalog = real_catalog()
    return tuple(offer(catalog.cuda, row, machine, INVENTORY) for row in catalog.environments)


def examination(seen: Facts) -> Examination:
    """Everything that is said about an interpreter and its machine."""
    return examine_machine(real_catalog(), seen, None, INVENTORY, CLOSURES.read)
