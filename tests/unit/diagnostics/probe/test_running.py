from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from envbuilder.core.errors import ToolFailed, ToolMissing
from envbuilder.diagnostics.facts.facts import Seen, Unseen
from envbuilder.diagnostics.probe.containers import PROBE_PATH, REQUEST_PATH, probe_image
from envbuilder.diagnostics.probe.decoding import PYTHON
from envbuilder.diagnostics.probe.interpreters import probe_python
from envbuilder.diagnostics.probe.requests import ProbeRequest, request_for
from envbuilder.oci.runtime.command import RunRequest, RunResult
from tests.unit.diagnostics.checks.expectations import TF_2_15_CPU, TF_2_20


@dataclass
class Folder:
    """A runner whose containers are folders: paths in the container lie below it, and its Python is this one."""

    root: Path
    asked: RunRequest | None = None

    def run(self, request: RunRequest) -> RunResult:
        self.asked = request
        for path, content in request.files:
            (self.root / Path(path).name).write_bytes(content)
        inside = {path: str(self.root / Path(path).name) for path, _ in request.files}
        command = [sys.executable if part == PYTHON else inside.get(part, part) for part in request.command]
        done = subprocess.run(command, capture_output=True, check=False, timeout=request.timeout)
        return RunResult(status=done.returncode, stdout=done.stdout, stderr=done.stderr, timed_out=False)


@dataclass
class Ending:
    """A runner whose containers all end in one way."""

    result: RunResult

    def run(self, request: RunRequest) -> RunResult:
        assert request.command[0] == PYTHON
        return self.result


def test_the_probe_and_its_request_go_into_the_container(tmp_path: Path) -> None:
    engine = Folder(tmp_path)
    request = ProbeRequest(sonames=("libc.so.6",), gpu=True)
    facts = probe_image(engine, "image:1", request, gpus=True, timeout=100)

    assert facts.origin == "image:1"
    assert isinstance(facts.libraries, Seen)
    assert [library.soname for library in facts.libraries.value] == ["libc.so.6"]
    assert engine.asked
    assert (engine.asked.gpus, engine.asked.network, engine.asked.timeout) == (True, "none", 100)
    assert [path for path, _ in engine.asked.files] == [PROBE_PATH, REQUEST_PATH]
    assert json.loads(dict(engine.asked.files)[REQUEST_PATH])["limit"] == 80


@pytest.mark.parametrize(
    ("result", "message", "hint"),
    [
        (RunResult(status=127, stdout=b"", stderr=b"exec: no such file", timed_out=False), "status 127", "envbuilder"),
        (RunResult(status=137, stdout=b"", stderr=b"", timed_out=False), "status 137", "memory"),
        (RunResult(status=1, stdout=b"", stderr=b"boom\xff", timed_out=False), "boom", "by hand"),
        (RunResult(status=137, stdout=b"", stderr=b"", timed_out=True), "within 9 s", "more time"),
        (RunResult(status=0, stdout=b"banner\n{}", stderr=b"", timed_out=False), "returned no facts", "entry point"),
    ],
)
def test_a_probe_without_an_answer_is_an_error_with_a_next_step(result: RunResult, message: str, hint: str) -> None:
    with pytest.raises(ToolFailed, match=message) as raised:
        probe_image(Ending(result), "image:1", ProbeRequest(), gpus=False, timeout=9)
    assert hint in raised.value.hint


def test_an_interpreter_of_this_host_is_looked_at() -> None:
    facts = probe_python(Path(sys.executable), ProbeRequest(train=False))

    assert isinstance(facts.interpreter, Seen)
    assert facts.interpreter.value.executable == sys.executable
    assert isinstance(facts.imported, Unseen)


def test_no_interpreter_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="No such file"):
        probe_python(tmp_path / "python", ProbeRequest())


def test_an_interpreter_that_hangs_is_an_error(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\nexec sleep 20\n", "utf-8")
    script.chmod(0o755)
    with pytest.raises(ToolFailed, match="did not answer"):
        probe_python(script, ProbeRequest(), timeout=0.2)


def test_the_request_asks_for_the_libraries_of_the_row() -> None:
    assert TF_2_20.cuda
    request = request_for(TF_2_20, gpu=True)

    assert (request.sonames, request.optional_sonames, request.gpu) == (TF_2_20.cuda.sonames, ("libcupti.so.12",), True)
    assert request_for(TF_2_15_CPU, gpu=False) == ProbeRequest()
