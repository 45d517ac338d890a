"""Options of `run` and `shell`, as people type them."""

from __future__ import annotations

import pytest

from tests.unit.cli.running import CommandLine

RUN = ("run", "--engine", "assemble")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("-p", "80:80:80:80"), "--publish 80:80:80:80: '80:80' does not appear to be an IPv4 or IPv6 address"),
        (("-p", "0:80"), "--publish 0:80: '0' is not a port from 1 to 65535"),
        (("-p", "80:65536"), "'65536' is not a port"),
        (("-p", "[::1]:x:80"), "'x' is not a port"),
        (("--env", "=x"), "--env =x: the name of the variable is missing"),
        (("--env", "NOT_SET_HERE"), "--env NOT_SET_HERE: the variable is not set on this host"),
        (("--workdir", "work"), "--workdir work: not an absolute path"),
        (("--keep", ".hidden"), "--keep .hidden: not a name"),
        (("--keep", "two words"), "for a directory: --keep ./two words"),
        (("--mount", "nowhere"), "--mount nowhere: no such directory"),
        (("--tty",), "--tty needs standard input and output that are a terminal"),
    ],
)
@pytest.mark.parametrize("command", [(*RUN,), ("shell", "--engine", "assemble")])
def test_a_wrong_value_is_named_with_the_right_form(
    envbuilder: CommandLine, command: tuple[str, ...], typed: tuple[str, ...], said: str
) -> None:
    words = (*command, *typed, "team/tf:1", *(("true",) if command[0] == "run" else ()))
    ended = envbuilder(*words)
    assert ended.status == 2
    assert said in f"{ended.stderr}"


@pytest.mark.parametrize(
    "typed", ["8888:80", "8888", "127.0.0.1:8888:80", "[::1]:8888:80", "::1:8888:80", "0.0.0.0:8888:80"]
)
def test_every_form_of_a_port_is_understood(envbuilder: CommandLine, typed: str) -> None:
    ended = envbuilder(*RUN, "-p", typed, "team/tf:1", "true")
    assert "image not found: team/tf:1" in ended.stderr


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("--engine", "docker"), "docker does not report which files a command opens"),
        (("--runtime", "podman"), "podman does not report which files a command opens"),
        (("--tensorboard", "."), "--record-reads cannot be combined with a server"),
    ],
)
def test_reads_are_recorded_where_the_kernel_reports_them(
    envbuilder: CommandLine, typed: tuple[str, ...], said: str
) -> None:
    ended = envbuilder("run", *typed, "--record-reads", "reads.yaml", "team/tf:1", "true")
    assert (ended.status, said in ended.stderr) == (2, True), ended.stderr


def test_a_list_that_cannot_be_written_is_refused_before_the_command_runs(envbuilder: CommandLine) -> None:
    ended = envbuilder(*RUN, "--record-reads", "missing/reads.yaml", "team/tf:1", "true")
    assert "the directory missing does not exist" in ended.stderr
    # An assembled image is looked for without naming the engine.
    assert "image not found: team/tf:1" in envbuilder("run", "--record-reads", "r.yaml", "team/tf:1", "true").stderr
