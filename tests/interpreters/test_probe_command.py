"""One command runs the probe where no file can be put, on old interpreters too, and leaves nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from envbuilder.diagnostics.facts.facts import Seen
from envbuilder.diagnostics.probe.decoding import decode
from envbuilder.diagnostics.probe.requests import ProbeRequest, launch
from tests.interpreters.interpreters import interpreters

PYTHONS = interpreters()


@pytest.mark.parametrize("python", sorted({PYTHONS[0], PYTHONS[-1]}))
def test_the_command_gives_facts_and_its_folder_goes(python: Path, tmp_path: Path) -> None:
    command = launch(str(python), ProbeRequest(sonames=("libno.so.1",), train=False))
    done = subprocess.run(command, capture_output=True, check=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    facts = decode(done.stdout, "here")
    assert isinstance(facts.libraries, Seen)
    assert [library.soname for library in facts.libraries.value] == ["libno.so.1"]
    assert list(tmp_path.iterdir()) == []


def test_no_argument_is_too_long_for_linux() -> None:
    assert max(map(len, launch("/python", ProbeRequest()))) < 128 * 1024
