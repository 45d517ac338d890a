"""A directory of facts: what answered, what stayed silent, what cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.cluster.fleet.collection import NodeFacts, ProbeRun, SilentNode, UnreadableNode, open_collection
from envbuilder.core.errors import InvalidInput, UsageError
from tests.fakes.fleets import STARTED, write_fleet
from tests.fakes.hosts import A100, host_document


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_fleet(tmp_path / "facts", 10)
    return tmp_path / "facts"


def test_facts_have_the_time_of_their_run(folder: Path) -> None:
    found = open_collection(folder).read("a001")

    assert isinstance(found, NodeFacts)
    assert found.facts.origin == "a001"
    assert found.run == ProbeRun(status=0, started=STARTED, ended=STARTED + 3)


def test_an_expected_node_without_a_file_is_silent(folder: Path) -> None:
    with (folder / "nodes.txt").open("a", encoding="utf-8") as stream:
        stream.write("# added later\n\ngone\n")
    collection = open_collection(folder)

    assert "gone" in collection.nodes
    assert isinstance(collection.read("gone"), SilentNode)


def test_a_silent_node_has_the_last_messages_about_it(folder: Path) -> None:
    (folder / "a001.json").write_text("", encoding="utf-8")
    (folder / "a001.err").write_text("noise\nsrun: error: busy\nstate of the node: down (fan)\n\n", encoding="utf-8")

    assert open_collection(folder).read("a001") == SilentNode(
        node="a001", why="srun: error: busy; state of the node: down (fan)"
    )


def test_a_silent_node_without_messages_has_its_exit_status(folder: Path) -> None:
    (folder / "a001.json").unlink()
    (folder / "a001.run").write_text("124 1 2\n", encoding="utf-8")
    found = open_collection(folder).read("a001")

    assert isinstance(found, SilentNode)
    assert "status 124" in found.why


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"schema": 1,\n "facts": ', ":2: is not one JSON document"),
        ('{"schema": 7}', ": schema: must be 1"),
        ('{"schema": 1, "seconds": 1, "facts": {"machine": {"ok": true}}}', "facts.machine"),
        ("Traceback: no", ":1: is not one JSON document"),
    ],
)
def test_unreadable_facts_are_named_with_file_and_line(folder: Path, text: str, place: str) -> None:
    (folder / "a001.json").write_text(text, encoding="utf-8")
    found = open_collection(folder).read("a001")

    assert isinstance(found, UnreadableNode)
    assert str(found.faults[0]).startswith(str(folder / "a001.json"))
    assert place in "; ".join(map(str, found.faults))


def test_a_directory_without_a_list_has_the_nodes_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "n1.json").write_text(host_document("550.54.15", (A100,)), encoding="utf-8")
    (tmp_path / "not a node.json").write_text("{}", encoding="utf-8")
    collection = open_collection(tmp_path)

    assert (collection.nodes, collection.has_list) == (("n1",), False)
    assert isinstance(collection.read("n1"), NodeFacts)


def test_named_nodes_are_the_expected_ones(folder: Path) -> None:
    collection = open_collection(folder, ("a002", "other"))

    assert (collection.nodes, collection.has_list) == (("a002", "other"), True)


@pytest.mark.parametrize("line", ["../../etc/passwd", "a b", "$(reboot)"])
def test_a_list_with_another_line_is_refused_with_its_place(folder: Path, line: str) -> None:
    (folder / "nodes.txt").write_text(f"a001\n{line}\n", encoding="utf-8")

    with pytest.raises(InvalidInput) as caught:
        open_collection(folder)
    assert caught.value.faults[0].line == 2


def test_a_directory_without_facts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no facts"):
        open_collection(tmp_path)
    with pytest.raises(UsageError, match="directory not found"):
        open_collection(tmp_path / "none")
