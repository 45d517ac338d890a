"""Shells get commands, options, environments and files as completions."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from envbuilder.cli.completion import environments
from envbuilder.cli.groups import LazyGroup
from envbuilder.cli.main import cli
from tests.command_tree import commands, commands_and_groups
from tests.fakes.catalogs import ROOT
from tests.fakes.teams import team_catalog
from tests.unit.cli.running import CommandLine


def groups() -> dict[str, LazyGroup]:
    """Return the groups by their words; the whole command line has none."""
    found = {name: each for name, each in commands_and_groups().items() if isinstance(each, LazyGroup)}
    return {"": cli, **found}


def completed(envbuilder: CommandLine, *words: str) -> list[str]:
    """Return what bash gets for the last word, as `TYPE,VALUE`."""
    envbuilder.set("_ENVBUILDER_COMPLETE", "bash_complete")
    envbuilder.set("COMP_WORDS", shlex.join(("envbuilder", *words)))
    envbuilder.set("COMP_CWORD", str(len(words)))
    ended = envbuilder()
    assert (ended.status, ended.stderr) == (0, "")
    return ended.stdout.splitlines()


def test_an_environment_is_completed_oldest_release_first(envbuilder: CommandLine) -> None:
    assert completed(envbuilder, "build", "tf-1.4") == ["plain,tf-1.4-cpu", "plain,tf-1.4-cuda8.0"]
    found = completed(envbuilder, "build", "tf-1.")
    assert found.index("plain,tf-1.9-cpu") < found.index("plain,tf-1.10-cpu")


def test_environments_of_catalogs_of_teams_are_completed(envbuilder: CommandLine, tmp_path: Path) -> None:
    folder = team_catalog(tmp_path / "catalog")
    commit = "0" * 40
    team_catalog(envbuilder.folder / "cache" / "catalogs" / commit, "tf-2.15-cpu-fetched")
    named = f"{folder} git+https://git.example/x@{commit} git+https://git.example/x@{'1' * 40} nonsense"
    envbuilder.set("ENVBUILDER_CATALOGS", named)
    assert completed(envbuilder, "build", "tf-2.15-cp") == [
        "plain,tf-2.15-cpu",
        "plain,tf-2.15-cpu-fetched",
        "plain,tf-2.15-cpu-vision",
    ]


def test_an_environment_is_completed_behind_other_words_and_below_a_group(envbuilder: CommandLine) -> None:
    assert completed(envbuilder, "build", "--push", "-t", "here/tf", "tf-2.15-cp") == ["plain,tf-2.15-cpu"]
    assert completed(envbuilder, "catalog", "prove", "tf-2.15-cp") == ["plain,tf-2.15-cpu"]


def test_locks_of_the_directory_come_before_environments(envbuilder: CommandLine) -> None:
    envbuilder.write("envbuilder.lock", "")
    found = completed(envbuilder, "show", "")
    assert found[:2] == ["plain,envbuilder.lock", "plain,tf-1.4-cpu"]


def test_a_word_that_no_environment_begins_with_may_be_a_file(envbuilder: CommandLine) -> None:
    assert completed(envbuilder, "show", "sub/") == ["file,sub/"]


def test_commands_options_and_their_values_are_completed(envbuilder: CommandLine) -> None:
    assert completed(envbuilder, "diag") == ["plain,diagnose"]
    assert completed(envbuilder, "build", "--engi") == ["plain,--engine"]
    assert completed(envbuilder, "build", "--engine", "as") == ["plain,assemble"]


def test_options_of_all_commands_are_completed_behind_each_and_are_in_the_help_of_none(envbuilder: CommandLine) -> None:
    for words in (("build", "--prog"), ("cache", "prune", "--prog"), ("doctor", "--prog"), ("--prog",)):
        assert completed(envbuilder, *words) == ["plain,--progress"]
    assert completed(envbuilder, "build", "--progress", "pl") == ["plain,plain"]
    envbuilder.unset("_ENVBUILDER_COMPLETE")
    assert "--progress" not in envbuilder("build", "--help").stdout


@pytest.mark.parametrize("text", ["nonsense = 1\n", "not TOML", "[command.lits]\njson = true\n"])
def test_an_invalid_configuration_prints_no_message(envbuilder: CommandLine, text: str) -> None:
    envbuilder.configure(text)
    for words in (("build", "tf-2.15-cpu"), ("build", "--engi"), ("diag",), ("cache", "pru")):
        completed(envbuilder, *words)
    envbuilder.set("ENVBUILDER_COLOR", "nonsense")
    completed(envbuilder, "build", "tf-2.15-cpu")


def test_another_catalog_has_other_environments(envbuilder: CommandLine) -> None:
    (envbuilder.folder / "other" / "environments").mkdir(parents=True)
    envbuilder.write("other/environments/tf-9.9-cpu.yaml", "")
    envbuilder.set("ENVBUILDER_MATRICES", "other")
    assert completed(envbuilder, "build", "tf") == ["plain,tf-9.9-cpu"]


def test_the_second_argument_of_export_is_an_environment(envbuilder: CommandLine) -> None:
    assert completed(envbuilder, "export", "comp") == ["plain,compose"]
    assert completed(envbuilder, "export", "compose", "tf-2.15-cp") == ["plain,tf-2.15-cpu"]


def test_every_command_that_takes_an_environment_completes_it() -> None:
    taking = {
        name
        for name, command in commands().items()
        if any(
            isinstance(each, click.Argument)
            and {"ENV", "GLOB"} & set((each.metavar or "").strip("[].").split("|"))
            and each._custom_shell_complete is not environments
            for each in command.params
        )
    }
    below = {f"{name} {member}" for name, group in groups().items() for member in group.environments}
    assert {name.strip() for name in below} == taking


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_the_script_of_a_shell_asks_this_program(envbuilder: CommandLine, shell: str) -> None:
    ended = envbuilder("completion", shell)
    assert ended.status == 0
    assert f"_ENVBUILDER_COMPLETE={shell}_complete" in ended.stdout


def test_commands_are_completed_without_importing_them(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "_ENVBUILDER_COMPLETE": "zsh_complete", "HOME": str(tmp_path)}
    words = {"COMP_WORDS": "envbuilder b", "COMP_CWORD": "1"}
    code = (
        "import sys\nfrom envbuilder.cli.main import entry\ntry: entry()\n"
        "finally: print(sorted(name for name in sys.modules if name.startswith('envbuilder.cli.')), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ | words, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert [line for line in done.stdout.splitlines() if line in {"build", "bundle", "base", "bu"}] == [
        "build",
        "bundle",
        "base",
    ]
    assert "Build the images of environments or locks." in done.stdout
    assert "envbuilder.cli.build" not in done.stderr


def test_another_shell_is_refused(envbuilder: CommandLine) -> None:
    assert envbuilder("completion", "tcsh").status == 2
