from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.errors import InvalidInput
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.facts import NOT_ASKED, Facts, Seen, Unseen
from envbuilder.diagnostics.probe.decoding import decode

FOLDER = Path(__file__).parents[3] / "cases" / "facts"
REAL = sorted(FOLDER.glob("*.json"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def paths(node: object, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner: list[tuple[str | int, object]] = []
    if isinstance(node, dict):
        inner = list(node.items())
    elif isinstance(node, list):
        inner = list(enumerate(node))
    return [at, *(path for name, value in inner for path in paths(value, (*at, name)))]


DOCUMENT = json.loads((FOLDER / "tf-2.20-cuda-wheels.json").read_text("utf-8"))
PLACES = [path for path in paths(DOCUMENT) if path]


def read(data: str | bytes) -> Facts | InvalidInput:
    try:
        return decode(data, "facts.json")
    except InvalidInput as error:
        return sound(error)


def sound(error: InvalidInput) -> InvalidInput:
    """The error, once it is sure that it names the file and can be printed."""
    assert error.faults[0].file == "facts.json"
    assert str(error).encode("utf-8")
    return error


@given(st.binary())
def test_any_bytes_give_facts_or_our_error(data: bytes) -> None:
    assert isinstance(read(data), InvalidInput)


@given(JSON)
def test_any_json_gives_facts_or_our_error(value: object) -> None:
    assert isinstance(read(json.dumps({"schema": 1, "facts": value})), Facts | InvalidInput)


@given(st.sampled_from(PLACES), JSON)
def test_a_real_document_with_one_wrong_value_gives_facts_or_our_error(
    place: tuple[str | int, ...], value: object
) -> None:
    document = json.loads(json.dumps(DOCUMENT))
    node = document
    for name in place[:-1]:
        node = node[name]
    node[place[-1]] = value
    assert isinstance(read(json.dumps(document)), Facts | InvalidInput)


@pytest.mark.parametrize("path", REAL, ids=[path.stem for path in REAL])
def test_what_the_probe_really_printed_is_read(path: Path) -> None:
    facts = decode(path.read_bytes(), path.name)

    assert isinstance(facts.interpreter, Seen)
    if isinstance(facts.compute, Seen):
        assert facts.distributions is NOT_ASKED, "the hardware was looked at alone"
    else:
        assert isinstance(facts.distributions, Seen)
        assert dict(facts.distributions.value)["numpy"]


def test_values_arrive() -> None:
    facts = decode(json.dumps(DOCUMENT), "x")

    assert isinstance(facts.libraries, Seen)
    loads = {library.soname: library.load for library in facts.libraries.value}
    cudnn = loads["libcudnn.so.9"]
    assert isinstance(cudnn, Seen)
    assert cudnn.value.version == Release("9.28.0")
    assert isinstance(facts.build, Seen)
    assert dict(facts.build.value.info)["cuda_compute_capabilities"] == "sm_60, sm_70, sm_80, sm_89, compute_90"


def test_a_fact_that_was_not_asked_for_says_so() -> None:
    assert decode('{"schema": 1, "seconds": 1, "facts": {}}', "x").training is NOT_ASKED


@pytest.mark.parametrize(
    ("document", "field", "problem"),
    [
        (b"", "", "not one JSON document"),
        (b"{} {}", "", "not one JSON document"),
        (b"\xff", "", "not one JSON document"),
        (b'{"schema": NaN}', "", "NaN is not JSON"),
        ("[" * 100_000, "", "not one JSON document"),
        ("[]", "", "must be an object"),
        ('{"schema": 2}', "schema", "another version"),
        (
            '{"schema": 1, "seconds": 1, "facts": {"machine": {"ok": 1, "seconds": 0}}}',
            "facts.machine.ok",
            "true or false",
        ),
    ],
)
def test_a_fault_names_the_field(document: str | bytes, field: str, problem: str) -> None:
    error = read(document)

    assert isinstance(error, InvalidInput)
    assert error.faults[0].field == field
    assert problem in error.faults[0].problem


def test_the_headline_of_a_traceback_is_its_error() -> None:
    facts = decode((FOLDER / "tf-1.4-gpu-wheel-no-cuda.json").read_bytes(), "x")

    assert isinstance(facts.imported, Unseen)
    assert facts.imported.headline.startswith("ImportError: libcublas.so.8.0: cannot open")
