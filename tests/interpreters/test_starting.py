"""The command line starts quickly: it imports what a verb needs, and nothing before."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import sys
sys.argv = ["envbuilder", *{arguments!r}]
from envbuilder.cli.main import entry
try:
    entry()
except SystemExit as stop:
    assert not stop.code, stop.code
sys.stderr.write(" ".join(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""


def imported(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(arguments=list(arguments))], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (("--help",), {"yaml", "docker", "jinja2", "packaging", "requests", "subprocess"}),
        (("--version",), {"yaml", "docker", "jinja2", "packaging", "requests", "subprocess"}),
        (("list",), {"docker", "jinja2", "requests"}),
        (("show", "tf-2.15-cpu"), {"docker", "jinja2", "requests"}),
        (("diff", "--help"), {"docker", "jinja2", "requests"}),
    ],
)
def test_a_verb_imports_no_more_than_it_needs(arguments: tuple[str, ...], unwanted: set[str]) -> None:
    assert not imported(*arguments) & unwanted


def test_the_command_line_is_also_a_module() -> None:
    ran = subprocess.run([sys.executable, "-m", "envbuilder", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("envbuilder, version ")
