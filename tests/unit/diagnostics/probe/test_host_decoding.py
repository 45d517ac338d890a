"""The host and its environment, from JSON and back; nothing else comes out than facts or our error."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.errors import InvalidInput
from envbuilder.core.structure import dump
from envbuilder.diagnostics.doctor import decode_host_environment, with_host_environment
from envbuilder.diagnostics.facts.facts import NOT_ASKED, Facts, Seen
from envbuilder.diagnostics.host.environment import (
    CaBundle,
    EngineAnswers,
    EngineSilent,
    HostEnvironment,
    Silence,
    SourceKind,
    SourceSeen,
)
from envbuilder.diagnostics.probe.decoding import decode
from tests.unit.diagnostics.checks.cases import facts_named
from tests.unit.diagnostics.host.machines import around
from tests.unit.diagnostics.probe.test_decoding import JSON, paths, read

HOST: dict[str, Any] = {
    "disks": [{"path": "/", "total": 9, "free": 3}],
    "shm": {"path": "/dev/shm", "total": 2, "free": 1},
    "memory": {"available": 5, "group_used": None},
    "modules": {"nvidia": True, "nvidia_uvm": False, "nouveau": False},
    "bus": [{"bus": "0000:3b:00.0", "id": "0x20b0", "driver": "nvidia"}],
    "nodes": {
        "ok": True,
        "seconds": 0.1,
        "value": [{"path": "/dev/nvidia0", "present": True, "opened": False, "error": "EACCES", "mode": "660"}],
    },
    "smi": {
        "path": "/usr/bin/nvidia-smi",
        "status": 0,
        "said": [],
        "gpus": [{"name": "T4", "driver": "535.183.01", "memory": 1, "free": 1, "capability": "7.5"}],
    },
    "wsl": {"number": 0, "device": False, "libraries": ["libcuda.so.1"]},
    "container": "docker",
    "virtualization": {"virtual": True, "vendor": "QEMU", "product": ""},
    "all_processes": False,
    "processes": [{"pid": 42, "name": None}],
    "variables": {"CUDA_VISIBLE_DEVICES": "", "TF_GPU_ALLOCATOR": "x"},
}
DOCUMENT: dict[str, Any] = {"schema": 1, "seconds": 1, "facts": {"host": {"ok": True, "seconds": 1, "value": HOST}}}
PLACES = [path for path in paths(DOCUMENT) if len(path) > 2]

TEXT = st.text(max_size=8).map(lambda text: text.encode("utf-8", "replace").decode("utf-8"))
BYTES = st.none() | st.integers(0, 1 << 50)
ENGINES = st.builds(
    EngineAnswers, version=TEXT, api=TEXT, storage=TEXT, buildkit=st.booleans(), gpus=st.booleans(), root=TEXT,
    root_free=BYTES, rootless=st.booleans(), context=TEXT,
) | st.builds(EngineSilent, why=TEXT, remedy=TEXT, denied=st.booleans())  # fmt: skip
SECONDS = st.floats(0, 9).map(lambda number: round(number, 3))
SOURCES = st.builds(
    SourceSeen, kind=st.sampled_from(SourceKind), host=TEXT, chosen=TEXT, silence=st.none() | st.sampled_from(Silence),
    status=st.none() | st.integers(100, 599), seconds=SECONDS, proxied=st.booleans(),
)  # fmt: skip
ENVIRONMENTS = st.builds(
    HostEnvironment, engine=ENGINES, sandbox=TEXT, why_no_sandbox=TEXT,
    sources=st.lists(SOURCES, max_size=3).map(tuple),
    unnamed=st.lists(st.sampled_from(SourceKind), max_size=3).map(tuple),
    ca_bundles=st.lists(st.builds(CaBundle, variable=TEXT, path=TEXT, readable=st.booleans()), max_size=2).map(tuple),
    proxies=st.dictionaries(TEXT, TEXT, max_size=2).map(lambda found: tuple(sorted(found.items()))), limit=SECONDS,
)  # fmt: skip


def test_values_of_the_host_arrive() -> None:
    fact = decode(json.dumps(DOCUMENT), "x").host
    assert isinstance(fact, Seen)
    seen = fact.value

    assert (seen.container, seen.virtual, seen.vendor, seen.all_processes) == ("docker", True, "QEMU", False)
    assert seen.modules
    assert (seen.modules.nvidia, seen.modules.nvidia_uvm) == (True, False)
    assert isinstance(seen.nodes, Seen)
    assert seen.nodes.value[0].error == "EACCES"
    assert seen.variable("CUDA_VISIBLE_DEVICES") == "", "empty is something else than not set"
    assert seen.variable("XLA_FLAGS") is None


def test_facts_of_an_earlier_probe_have_no_host() -> None:
    assert facts_named("tf-2.15-cpu").host == NOT_ASKED


@given(st.sampled_from(PLACES), JSON)
def test_anything_at_any_place_gives_facts_or_our_error(place: tuple[str | int, ...], value: object) -> None:
    document: Any = copy.deepcopy(DOCUMENT)
    node = document
    for step in place[:-1]:
        node = node[step]
    node[place[-1]] = value
    assert isinstance(read(json.dumps(document)), Facts | InvalidInput)


@given(ENVIRONMENTS)
def test_the_environment_of_a_host_comes_back_as_it_was_written(seen: HostEnvironment) -> None:
    document = with_host_environment(json.dumps(DOCUMENT).encode(), seen)
    assert decode_host_environment(document, "x") == seen
    assert decode(document, "x") == decode(json.dumps(DOCUMENT), "x")


def test_a_document_without_the_environment_has_none_and_stays_as_it_is() -> None:
    document = json.dumps(DOCUMENT).encode()
    assert with_host_environment(document, None) is document
    assert decode_host_environment(document, "x") is None


@given(st.sampled_from([path for path in paths(dump(around())) if path]), JSON)
def test_a_damaged_environment_is_our_error(place: tuple[str | int, ...], value: object) -> None:
    damaged: Any = copy.deepcopy(dump(around()))
    node = damaged
    for step in place[:-1]:
        node = node[step]
    node[place[-1]] = value
    # Infinity, or a number of many digits, is a fault of the whole document: it is no JSON.
    assert outcome(json.dumps({**DOCUMENT, "surroundings": damaged})) in {"read", "surroundings", ""}


def outcome(document: str) -> str:
    """`read`, or the field that is to blame."""
    try:
        decode_host_environment(document, "x")
    except InvalidInput as error:
        return error.faults[0].field.partition(".")[0].partition("[")[0]
    return "read"
