"""Missing facts about a machine, with the reason and the way to obtain them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from envbuilder.diagnostics.facts.facts import NOT_ASKED, Facts, Unseen
from envbuilder.diagnostics.host.environment import EngineAnswers, SourceKind
from envbuilder.diagnostics.host.machine_view import MachineView

_AGAIN = "python probe.py --hardware > facts.json  # on that machine"
_NAMING = {
    SourceKind.REGISTRY: "envbuilder build ENV --registry-mirror HOST",
    SourceKind.INDEX: "envbuilder build ENV --index URL",
    SourceKind.DEBIAN: "envbuilder build ENV --debian-mirror URL",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingFact:
    """A fact that could not be obtained.

    Attributes:
        how: The way to obtain it; may be empty.
    """

    what: str
    why: str
    how: str = ""


def missing_facts(view: MachineView) -> tuple[MissingFact, ...]:
    """Return the facts that are missing and without a finding."""
    return (
        *_facts(view.facts),
        *_software(view.facts),
        *_host(view),
        *_gpus(view),
        *_work(view),
        *_host_environment(view),
    )


def _facts(facts: Facts) -> Iterator[MissingFact]:
    asked = {
        "the environment of the driver (disk, device nodes, kernel modules, settings)": facts.host,
        "NVIDIA's management library": facts.nvml,
        "the driver": facts.driver,
        "processor and memory": facts.machine,
        "the interpreter": facts.interpreter,
    }
    for what, fact in asked.items():
        if isinstance(fact, Unseen):
            yield MissingFact(what=what, why=fact.headline, how=_AGAIN)


def _software(facts: Facts) -> Iterator[MissingFact]:
    if isinstance(facts.software, Unseen) and facts.software.kind != NOT_ASKED.kind:
        how = "envbuilder doctor --python PATH"
        yield MissingFact(what="installed versions (TensorFlow, CUDA, cuDNN)", why=facts.software.headline, how=how)


def _host(view: MachineView) -> Iterator[MissingFact]:
    host, machine = view.host, view.machine
    if machine is not None and machine.avx is None:
        yield MissingFact(what="whether the processor has AVX", why="/proc/cpuinfo does not list it", how="lscpu")
    if host is None:
        return
    if host.modules is None:
        yield MissingFact(what="kernel modules", why="neither /proc/modules nor /sys/module can be read", how="lsmod")
    if host.bus is None:
        yield MissingFact(what="GPUs on the PCI bus", why="/sys/bus/pci does not exist", how="lspci -d 10de:")
    if isinstance(host.nodes, Unseen):
        yield MissingFact(what="device nodes", why=host.nodes.headline, how="ls -l /dev/nvidia*")
    if host.memory_available is None:
        yield MissingFact(what="free memory", why="/proc/meminfo does not list it", how="free -h")


def _gpus(view: MachineView) -> Iterator[MissingFact]:
    if not view.has_gpu and not view.is_module_loaded:
        return
    if view.nvml is not None and view.nvml.init_code != 0:
        why = view.nvml.error or f"nvmlInit gives {view.nvml.init_code} {view.nvml.init_name}"
        yield MissingFact(what="processes on the GPUs, MIG, ECC, persistence", why=why, how="nvidia-smi -q")
    for gpu in view.gpus:
        reasons = dict(gpu.errors)
        for name in ("memory", "processes", "capability"):
            if name in reasons and "handle" not in reasons:
                yield MissingFact(what=f"{name} of GPU {gpu.index}", why=reasons[name], how="nvidia-smi -q")
    if view.gpus and view.host and view.host.all_processes is False:
        why = "this container has processes of its own; those of the host have no names here"
        yield MissingFact(what="all processes on the GPUs", why=why, how="nvidia-smi  # on the host")
    yield MissingFact(
        what="errors of the driver in the kernel log (Xid)",
        why="reading it requires root privileges",
        how="sudo dmesg | grep -iE 'nvrm|xid'",
    )


def _work(view: MachineView) -> Iterator[MissingFact]:
    if view.gpus and isinstance(view.facts.compute, Unseen):
        why = "doctor computes nothing on a GPU"
        yield MissingFact(what="whether the GPUs compute correctly", why=why, how="envbuilder validate ENV --tier gpu")


def _host_environment(view: MachineView) -> Iterator[MissingFact]:
    environment = view.host_environment
    if environment is None:
        why = "only `envbuilder doctor` on the host itself collects them"
        how = "envbuilder doctor -o facts.json  # on that machine"
        yield MissingFact(what="container engine and sources", why=why, how=how)
        return
    for kind in environment.unnamed:
        why = "nothing on this machine names one"
        yield MissingFact(what=f"whether a {kind.value} answers", why=why, how=_NAMING[kind])
    if isinstance(environment.engine, EngineAnswers) and environment.engine.root_free is None:
        why = f"its directory {environment.engine.root or '(unknown)'} is not accessible from this machine"
        yield MissingFact(what="free disk of the engine", why=why, how="docker system df")
    if not environment.sandbox and not environment.why_no_sandbox:
        why = "no answer in time"
        yield MissingFact(
            what="whether images run without an engine", why=why, how="envbuilder validate --engine assemble"
        )
