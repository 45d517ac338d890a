"""What could not be seen, why, and what would show it."""

from __future__ import annotations

from collections.abc import Iterator

from envbuilder.diagnostics.facts.facts import NOT_ASKED, Facts, Unseen
from envbuilder.diagnostics.host.environment import EngineAnswers, SourceKind
from envbuilder.diagnostics.host.findings import NotLooked
from envbuilder.diagnostics.host.view import View

_AGAIN = "python probe.py --hardware > facts.json there (`envbuilder probe -o probe.py`)"
_NAMING = {
    SourceKind.REGISTRY: "envbuilder build ENV --registry-mirror HOST",
    SourceKind.INDEX: "envbuilder build ENV --index URL",
    SourceKind.DEBIAN: "envbuilder build ENV --debian-mirror URL",
}


def unseen(view: View) -> tuple[NotLooked, ...]:
    """Everything that no finding can speak about."""
    return (*_facts(view.facts), *_software(view.facts), *_host(view), *_gpus(view), *_work(view), *_surroundings(view))


def _facts(facts: Facts) -> Iterator[NotLooked]:
    asked = {
        "the host around the driver (disk, device nodes, kernel modules, settings)": facts.host,
        "NVIDIA's management library": facts.nvml,
        "the driver": facts.driver,
        "processor and memory": facts.machine,
        "the interpreter": facts.interpreter,
    }
    for what, fact in asked.items():
        if isinstance(fact, Unseen):
            yield NotLooked(what=what, why=fact.headline, how=_AGAIN)


def _software(facts: Facts) -> Iterator[NotLooked]:
    if isinstance(facts.software, Unseen) and facts.software.kind != NOT_ASKED.kind:
        how = "envbuilder doctor --python PATH"
        yield NotLooked(what="installed versions (TensorFlow, CUDA, cuDNN)", why=facts.software.headline, how=how)


def _host(view: View) -> Iterator[NotLooked]:
    host, machine = view.host, view.machine
    if machine is not None and machine.avx is None:
        yield NotLooked(what="whether the processor has AVX", why="/proc/cpuinfo does not tell", how="lscpu")
    if host is None:
        return
    if host.modules is None:
        yield NotLooked(what="kernel modules", why="neither /proc/modules nor /sys/module can be read", how="lsmod")
    if host.bus is None:
        yield NotLooked(what="GPUs on the PCI bus", why="/sys/bus/pci is not there", how="lspci -d 10de:")
    if isinstance(host.nodes, Unseen):
        yield NotLooked(what="device nodes", why=host.nodes.headline, how="ls -l /dev/nvidia*")
    if host.memory_available is None:
        yield NotLooked(what="free memory", why="/proc/meminfo does not tell", how="free -h")


def _gpus(view: View) -> Iterator[NotLooked]:
    if not view.has_gpu and not view.is_module_loaded:
        return
    if view.nvml is not None and view.nvml.init_code != 0:
        why = view.nvml.error or f"nvmlInit gives {view.nvml.init_code} {view.nvml.init_name}"
        yield NotLooked(what="who holds the GPUs, MIG, ECC, persistence", why=why, how="nvidia-smi -q")
    for gpu in view.gpus:
        reasons = dict(gpu.errors)
        for name in ("memory", "processes", "capability"):
            if name in reasons and "handle" not in reasons:
                yield NotLooked(what=f"{name} of GPU {gpu.index}", why=reasons[name], how="nvidia-smi -q")
    if view.gpus and view.host and view.host.all_processes is False:
        why = "this container has processes of its own; those of the host have no names here"
        yield NotLooked(what="all processes on the GPUs", why=why, how="nvidia-smi on the host")
    yield NotLooked(
        what="errors that the driver wrote into the kernel's log (Xid)",
        why="reading it takes root rights",
        how="sudo dmesg | grep -iE 'nvrm|xid'",
    )


def _work(view: View) -> Iterator[NotLooked]:
    if view.gpus and isinstance(view.facts.compute, Unseen):
        why = "doctor looks and does not compute"
        yield NotLooked(what="whether the GPUs compute right", why=why, how="envbuilder validate ENV --tier gpu")


def _surroundings(view: View) -> Iterator[NotLooked]:
    around = view.surroundings
    if around is None:
        why = "looked at on the host itself only, and these facts hold nothing of them"
        how = "envbuilder doctor -o facts.json on that machine"
        yield NotLooked(what="container engine and sources", why=why, how=how)
        return
    for kind in around.unnamed:
        why = "nothing on this machine names one"
        yield NotLooked(what=f"whether a {kind.value} answers", why=why, how=_NAMING[kind])
    if isinstance(around.engine, EngineAnswers) and around.engine.root_free is None:
        why = f"its folder {around.engine.root or '(unknown)'} cannot be seen from here"
        yield NotLooked(what="free disk of the engine", why=why, how="docker system df")
    if not around.sandbox and not around.why_no_sandbox:
        why = "no answer in time"
        yield NotLooked(
            what="whether images run without an engine", why=why, how="envbuilder validate --engine assemble"
        )
