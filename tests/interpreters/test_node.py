"""Directories, user namespaces, network, clock and scheduler, as the probe sees them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from envbuilder.diagnostics.facts.facts import Facts, known
from envbuilder.diagnostics.facts.node import Directory
from envbuilder.diagnostics.probe.decoding import decode
from tests.interpreters.interpreters import interpreters
from tests.interpreters.test_host import answer, look

PYTHONS = interpreters()


def directories(facts: Facts) -> dict[str, Directory]:
    return {
        each.role: state for each in known(facts.directories) or () if (state := known(each.state)) is not None
    }  # fmt: skip


@pytest.mark.parametrize("python", PYTHONS, ids=[path.parent.parent.name for path in PYTHONS])
def test_every_interpreter_sees_the_node(python: Path, tmp_path: Path) -> None:
    before = time.time()
    facts = look(tmp_path, python=python, HOME=str(tmp_path), TMPDIR=str(tmp_path), SLURM_JOB_ID="7")
    seen = directories(facts)

    assert {role: each.path for role, each in seen.items()} == {
        "home": str(tmp_path), "root": "/", "temporary": str(tmp_path)
    }  # fmt: skip
    assert (seen["home"].writable, seen["home"].locks, seen["home"].error) == (True, True, "")
    assert seen["home"].type
    assert list(tmp_path.iterdir()) == [], "the files of the probe are gone"
    clock, batch, namespaces = known(facts.clock), known(facts.scheduler), known(facts.namespaces)
    assert clock
    assert before - 1 < clock.time < time.time() + 1
    assert batch
    assert (batch.name, batch.job) == ("slurm", True)
    assert known(facts.network)
    assert namespaces
    assert namespaces.works == (namespaces.error == "")


def test_a_missing_home_and_a_missing_temporary_directory_are_facts(tmp_path: Path) -> None:
    document = answer(tmp_path, HOME="/nowhere", TMPDIR="/nowhere/at/all")
    seen = directories(decode(document, "probe"))

    assert (seen["home"].writable, seen["home"].error) == (False, "ENOENT")
    assert json.loads(document)["facts"]["directories"]["value"]["home"]["value"]["total"] is None
    assert (seen["temporary"].path, seen["temporary"].error) == ("/nowhere/at/all", "ENOENT")
