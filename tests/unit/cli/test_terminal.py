"""Options about messages, before and after the name of a command; colours; errors as JSON."""

from __future__ import annotations

import json
import logging
import os
import pty
import re
import select
import sys
from pathlib import Path

import click
import pytest

from envbuilder.cli.global_options import GlobalOption
from envbuilder.cli.output.failures import kind_of
from envbuilder.cli.output.terminal import color_of
from envbuilder.core import errors
from envbuilder.core.errors import EnvbuilderError
from envbuilder.core.http import request_log
from tests.command_tree import commands, root_context
from tests.fakes.catalogs import ROOT
from tests.unit.cli.running import CommandLine

_SPEC = 'environment: "tf-2.15-cpu"\n'
_BAD = 'environment: "tf-2.15-cpu"\npakages: []\n'


def test_every_command_has_the_options_and_hides_them_in_its_help() -> None:
    for name, command in commands().items():
        found = {spelling: each for each in command.params for spelling in each.opts}
        context = click.Context(command, parent=root_context())
        for spelling in ("-q", "-v", "--progress", "--color"):
            option = found[spelling]
            assert isinstance(option, GlobalOption), name
            assert option.get_help_record(context) is None, name


@pytest.mark.parametrize("words", [("-q", "init", "tf-2.15-cpu"), ("init", "tf-2.15-cpu", "--quiet")])
def test_an_option_stands_before_or_after_the_command(envbuilder: CommandLine, words: tuple[str, ...]) -> None:
    assert envbuilder(*words).status == 0


def test_a_later_option_takes_precedence(envbuilder: CommandLine) -> None:
    assert envbuilder("--progress", "json", "show", "nope").stderr.startswith("{")
    assert envbuilder("--progress", "json", "show", "nope", "--progress", "plain").stderr.startswith("error:")


@pytest.mark.parametrize(
    ("environ", "color"),
    [
        ({}, None),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, None),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        ({"CLICOLOR_FORCE": "1"}, True),
        ({"CLICOLOR_FORCE": "0"}, None),
        ({"CLICOLOR": "0"}, False),
        ({"CLICOLOR": "1"}, None),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm-256color"}, None),
    ],
)
def test_colours_follow_the_conventions_of_terminals(environ: dict[str, str], color: bool | None) -> None:
    assert color_of(environ) is color


def _colours(envbuilder: CommandLine, *words: str) -> tuple[bool, bool]:
    """Return whether results and messages have colours."""
    ended = envbuilder(*words)
    return "\x1b[" in ended.stdout, "\x1b[" in ended.stderr


def test_colours_of_results_and_errors_have_one_switch(envbuilder: CommandLine) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
        envbuilder.unset(name)
    assert _colours(envbuilder, "list", "tf-2.15*") == (False, False)
    assert _colours(envbuilder, "list", "tf-2.15*", "--color", "always") == (True, False)
    assert _colours(envbuilder, "--color", "always", "show", "nope") == (False, True)
    envbuilder.set("FORCE_COLOR", "1")
    assert _colours(envbuilder, "list", "tf-2.15*") == (True, False)
    assert _colours(envbuilder, "show", "nope") == (False, True)
    assert _colours(envbuilder, "biuld") == (False, True)
    envbuilder.set("NO_COLOR", "1")
    assert _colours(envbuilder, "list", "tf-2.15*") == (False, False)
    assert _colours(envbuilder, "biuld") == (False, False)
    envbuilder.configure('color = "always"\n')
    assert _colours(envbuilder, "biuld") == (False, True)
    envbuilder.set("ENVBUILDER_COLOR", "never")
    assert _colours(envbuilder, "biuld") == (False, False)


def test_an_error_about_the_configuration_obeys_the_variables(envbuilder: CommandLine) -> None:
    envbuilder.configure("color = 1\n")
    envbuilder.set("FORCE_COLOR", "1")
    ended = envbuilder("list")
    assert ended.status == 3
    assert "\x1b[38;5;196m" in ended.stderr
    assert "color: must be a text in quotes" in ended.stderr


def test_quiet_leaves_errors(envbuilder: CommandLine) -> None:
    envbuilder.write("x.lock", "schema: 7\n")
    assert "error:" in envbuilder("-q", "build", "x.lock").stderr


@pytest.mark.parametrize("words", [("lock", "bad.yaml", "--json"), ("--progress", "json", "lock", "bad.yaml")])
def test_an_error_is_a_document_with_the_line_of_each_fault(envbuilder: CommandLine, words: tuple[str, ...]) -> None:
    envbuilder.write("bad.yaml", _BAD)
    ended = envbuilder(*words)
    assert ended.status == 3
    document = json.loads(ended.stdout)["error"] if "--json" in words else json.loads(ended.stderr)
    assert (document["kind"], document["exit_status"]) == ("invalid-input", 3)
    [fault] = document["faults"]
    assert (fault["file"], fault["line"], fault["field"]) == ("bad.yaml", 2, "pakages")
    if "--json" in words:
        assert ended.stderr.startswith("error: 1 fault in bad.yaml")
    else:
        assert (document["schema"], document["event"], ended.stdout) == (1, "error", "")


def test_a_mistake_on_the_command_line_is_a_document_if_one_is_asked_for(envbuilder: CommandLine) -> None:
    document = json.loads(envbuilder("lock", "--json", "--nonsense").stdout)
    assert document["error"] == {
        "kind": "usage-error",
        "message": "No such option '--nonsense'.",
        "hint": "`envbuilder lock --help`",
        "exit_status": 2,
    }


def test_an_option_of_the_command_in_an_image_asks_for_nothing(envbuilder: CommandLine) -> None:
    ended = envbuilder("run", "--nonsense", "tf-2.15-cpu", "--", "python", "x.py", "--json")
    assert (ended.status, ended.stdout) == (2, "")


def test_no_second_document_follows_the_result(envbuilder: CommandLine) -> None:
    ended = envbuilder("list", "tf-2.15*", "--json")
    assert json.loads(ended.stdout)["schema"] == 1


def test_every_kind_of_error_is_on_the_page_of_exit_codes() -> None:
    page = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    families = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, EnvbuilderError)]
    assert len(families) > 15
    assert not [each.__name__ for each in families if f"`{each.__name__}`" not in page]
    assert len({kind_of(each) for each in families}) == len(families)


def test_verbose_prints_requests_without_logins_and_queries(
    envbuilder: CommandLine, caplog: pytest.LogCaptureFixture
) -> None:
    envbuilder.write("envbuilder.yaml", _SPEC)
    said = "https://me:secret@index.example/simple/x?signature=abc"
    for words, told in ((("-v", "show", "nope"), True), (("show", "nope"), False)):
        envbuilder(*words)
        with caplog.at_level(logging.DEBUG, logger=request_log.__name__), request_log.logged("GET", said) as answered:
            answered(200)
        printed = envbuilder.messages()
        assert ("  GET https://index.example/simple/x 200 0.0s" in printed.splitlines()) is told
        assert "secret" not in printed
        assert "signature" not in printed


def test_a_terminal_of_80_columns_gets_folded_notices_and_progress(tmp_path: Path) -> None:
    shown = _in_terminal(
        tmp_path,
        80,
        "from envbuilder.cli.output.printing import notice, warning\n"
        "from envbuilder.cli.output.progress import shown_progress\n"
        "from envbuilder.image.builds import StepStarted, StepFinished\n"
        "with shown_progress() as show:\n"
        "    show(StepStarted(step='x'))\n"
        "    notice('word ' * 40)\n"
        "    show(StepFinished(step='x', seconds=1.0, cached=False))\n"
        "warning('word ' * 40)\n",
    )
    lines = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line) for line in re.split(r"\r|\n", shown)]
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line.startswith(("·", "warning:", "✓"))] == [
        f"· {'word ' * 14}word",
        "✓ x 1.0s",
        f"warning: {'word ' * 13}word",
    ]
    assert "\x1b[?25h" in shown


def _in_terminal(folder: Path, columns: int, code: str) -> str:
    """Return what a terminal is sent by a program."""
    child, terminal = pty.fork()
    if child == 0:
        environ = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), "HOME": str(folder)}
        os.execve(sys.executable, [sys.executable, "-c", code], environ)  # noqa: S606  pty.fork has no other way
    shown = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.waitpid(child, 0)
    os.close(terminal)
    return shown.decode()
