"""What could not be seen is said, with what would show it."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.diagnostics.facts.facts import NOT_ASKED, Unseen
from envbuilder.diagnostics.host.environment import SourceKind
from envbuilder.diagnostics.host.machine_view import MachineView
from envbuilder.diagnostics.host.missing_facts import missing_facts
from tests.unit.diagnostics.host.machines import NO_NVML, around, engine, gpu, host, machine, nvml, view, without_driver


def what(seen: MachineView) -> list[str]:
    return [each.what for each in missing_facts(seen)]


def test_everything_that_is_not_seen_has_a_reason_and_most_a_way() -> None:
    entries = missing_facts(MachineView(facts=replace(view().facts, host=NOT_ASKED, nvml=NOT_ASKED)))
    assert all(entry.why and entry.how for entry in entries)
    assert len(entries) >= 3


def test_a_machine_without_gpu_lacks_nothing_but_what_nobody_looked_at() -> None:
    facts = without_driver().facts
    assert what(MachineView(facts=facts, host_environment=around())) == []
    assert what(MachineView(facts=facts)) == ["container engine and sources"]


def test_the_log_of_the_kernel_is_never_read_where_a_gpu_is() -> None:
    assert any("Xid" in entry for entry in what(view(around())))


def test_a_management_library_that_is_not_there_hides_who_holds_the_gpus() -> None:
    assert "processes on the GPUs, MIG, ECC, persistence" in what(view(around(), nvml=NO_NVML))
    assert "processes on the GPUs, MIG, ECC, persistence" not in what(view(around()))


def test_one_attribute_that_the_driver_does_not_tell_is_named() -> None:
    silent = nvml(gpu(processes=None, errors=(("processes", "4 Insufficient Permissions"),)))
    assert "processes of GPU 0" in what(view(around(), nvml=silent))


def test_processes_of_the_host_are_hidden_in_a_container() -> None:
    assert "all processes on the GPUs" in what(view(around(), host=host(all_processes=False)))


def test_parts_of_the_host_that_cannot_be_read_are_named() -> None:
    blind = host(modules=None, bus=None, memory_available=None, nodes=Unseen(kind="Timeout", message="no answer"))
    seen = what(view(around(), host=blind, machine=machine(avx=None)))
    assert {"kernel modules", "GPUs on the PCI bus", "free memory", "device nodes"} <= set(seen)
    assert "whether the processor has AVX" in seen


def test_sources_that_nothing_names_and_an_engine_elsewhere_are_named() -> None:
    seen = what(view(around(unnamed=(SourceKind.DEBIAN,), engine=engine(root_free=None), sandbox="")))
    assert "whether a Debian archive answers" in seen
    assert "free disk of the engine" in seen
    assert "whether images run without an engine" in seen
