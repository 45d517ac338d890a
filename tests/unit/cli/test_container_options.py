"""Options of `run` and `shell`, as people type them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.oci.runtime.command import PublishedPort
from envbuilder.wiring.containers import ContainerOptions, container_request, server_port
from tests.unit.cli.running import CommandLine

RUN = ("run", "--engine", "assemble")
NOTHING = ContainerOptions(
    memory=None,
    gpus=None,
    devices=(),
    mounts=(),
    keep="",
    workdir="",
    variables=(),
    variable_files=(),
    user="",
    ports=(),
    no_network=False,
    tty=None,
    interactive=True,
)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("-p", "80:80:80:80"), "--publish 80:80:80:80: '80:80' does not appear to be an IPv4 or IPv6 address"),
        (("-p", "0:80"), "--publish 0:80: '0' is not a port from 1 to 65535"),
        (("-p", "80:65536"), "'65536' is not a port"),
        (("-p", "[::1]:x:80"), "'x' is not a port"),
        (("--env", "=x"), "--env =x: the name of the variable is missing"),
        (("-e", "export A=x"), "--env export A: a name of a variable has no spaces"),
        (("--env-file", "nowhere"), "--env-file nowhere cannot be read: No such file or directory"),
        (("--mount", ".:/work:rx"), "--mount .:/work:rx: 'rx' is not a mode of a mount"),
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
    ("typed", "chosen", "others"),
    [
        ((), None, ()),
        (("6006:6006",), None, ("6006:6006",)),
        (("9000",), ("127.0.0.1", 9000, 9000), ()),
        (("[::1]:9000",), ("::1", 9000, 9000), ()),
        (("6006:6006", "192.0.2.1:9000:8888"), ("192.0.2.1", 9000, 8888), ("6006:6006",)),
        (("::1:9000:8888", "7000:80"), ("::1", 9000, 8888), ("7000:80",)),
    ],
)
def test_a_number_alone_or_the_usual_port_of_a_server_is_its_port(
    typed: tuple[str, ...], chosen: tuple[str, int, int] | None, others: tuple[str, ...]
) -> None:
    address, host, container = chosen or ("", 0, 0)
    port = PublishedPort(address=address, host=host, container=container) if chosen else None
    assert server_port(typed, 8888) == (port, others)


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A=1\n\nexport TOKEN_OF_MINE=abc\n", "vars.env:3: export TOKEN_OF_MINE: a name of a variable has no spaces"),
        ("NOT_SET_HERE", "vars.env:1: NOT_SET_HERE: the variable is not set on this host"),
        ("# comment\n=abc\n", "vars.env:2: =…: the name of the variable is missing"),
        ("A=\xff", "--env-file vars.env cannot be read: it is not text in UTF-8"),
    ],
)
def test_a_file_of_variables_is_refused_with_its_line_and_without_values(
    envbuilder: CommandLine, text: str, said: str
) -> None:
    (envbuilder.folder / "vars.env").write_text(text, encoding="latin-1")
    ended = envbuilder(*RUN, "--env-file", "vars.env", "team/tf:1", "true")
    assert (ended.status, said in ended.stderr, "abc" in ended.stderr) == (2, True, False), ended.stderr


def test_a_list_that_cannot_be_written_is_refused_before_the_command_runs(envbuilder: CommandLine) -> None:
    ended = envbuilder(*RUN, "--record-reads", "missing/reads.yaml", "team/tf:1", "true")
    assert "the directory missing does not exist" in ended.stderr
    # An assembled image is looked for without naming the engine.
    assert "image not found: team/tf:1" in envbuilder("run", "--record-reads", "r.yaml", "team/tf:1", "true").stderr


def test_variables_of_options_replace_those_of_files_and_the_last_file_counts(tmp_path: Path) -> None:
    first, second = tmp_path / "first.env", tmp_path / "second.env"
    first.write_text('\ufeff# a comment\n\n  A=1\nB="it\'s $HOME" # all of it\r\nC=\nHERE\n', encoding="utf-8")
    second.write_text("A=2\nD=x=y\n", encoding="utf-8")
    options = replace(NOTHING, variable_files=(first, second), variables=("D=typed",))
    request = container_request("tf:1", ("true",), options, {"HERE": "of this host"}, terminal=False)
    assert request.env == (
        ("A", "2"), ("B", "\"it's $HOME\" # all of it"), ("C", ""), ("D", "typed"), ("HERE", "of this host"),
    )  # fmt: skip


def test_a_mount_can_be_read_only_and_the_first_one_is_the_working_directory(tmp_path: Path) -> None:
    here = str(tmp_path)
    options = replace(NOTHING, mounts=(f"{here}:/data:ro", f"{here}:/out:rw", f"{here}:/more"))
    request = container_request("tf:1", ("true",), options, {}, terminal=False)
    assert request.mounts == ((here, "/data"),)
    assert request.shared == ((here, "/out"), (here, "/more"))
    assert request.folder == "/data"
    assert request.caller is not None, "who reads a directory of this host is its caller"
