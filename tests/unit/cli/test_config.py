"""Options come from the command line, a variable, or the configuration file; `config show` says which."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import click
import pytest

from envbuilder.cli.configured_options import configured_options, option_name, variable_of
from envbuilder.cli.global_options import GlobalOption, with_global_options
from envbuilder.cli.options import host_builds_option, source_options
from envbuilder.cli.unknown_variables import OTHER_VARIABLES
from envbuilder.core.errors import InvalidInput, UsageError
from envbuilder.wiring.configuration import OPTIONS_SENT, SETTINGS, Configuration, Option
from envbuilder.wiring.settings import Settings, settings
from tests.command_tree import commands
from tests.unit.cli.running import CommandLine

COMMANDS = commands()


def configured(name: str) -> dict[str, object]:
    """Return the configured values of a command, as click takes them, by the names of its parameters."""
    found = configured_options(COMMANDS[name], tuple(name.split()), settings())
    return {each.parameter: each.value for each in found}


def test_no_two_options_and_settings_have_one_variable() -> None:
    variables = Counter(setting.variable for setting in SETTINGS)
    for name, command in COMMANDS.items():
        options = [
            each for each in command.params if isinstance(each, click.Option) and not isinstance(each, GlobalOption)
        ]
        variables.update(variable_of(tuple(name.split()), option_name(each)) for each in options)
    assert len(variables) > 300
    assert not [variable for variable, count in variables.items() if count > 1]


_NO_SETTING = {
    "debian-allow-expired": "it accepts packages without later security updates: chosen for one project or command",
    "ubuntu-allow-expired": "the same",
}
_OTHER_KEY = {"publisher": "publishers", "quiet": "verbosity", "verbose": "verbosity"}


def test_every_option_that_describes_this_host_or_its_user_has_a_setting_or_a_reason_for_none() -> None:
    command = with_global_options(click.command("x")(host_builds_option(source_options(lambda: None))))
    names = {option_name(each) for each in command.params if isinstance(each, click.Option)}
    assert {_OTHER_KEY.get(name, name) for name in names} - {setting.key for setting in SETTINGS} == set(_NO_SETTING)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_read_from_its_variable_and_from_the_file(name: str, tmp_path: Path) -> None:
    words = tuple(name.split())
    for option in COMMANDS[name].params:
        if not isinstance(option, click.Option) or isinstance(option, GlobalOption) or option.name == "help":
            continue
        key = option_name(option)
        value = True if option.is_flag else ("1",) if option.multiple else "1"
        file = Configuration(file="config.toml", commands={words: {key: Option(value=value, line=1)}})
        nothing = Settings(matrices=tmp_path, templates=tmp_path, cache_path=tmp_path, environ={})
        by_file = replace(nothing, configuration=file)
        by_variable = replace(nothing, environ={variable_of(words, key): "1"})
        assert read(name, by_file) in {key, f"command.{'.'.join((*words, key))}"}
        assert read(name, by_variable) in {key, variable_of(words, key)}


def read(name: str, here: Settings) -> str:
    """Return the option that is set; the field or the variable that is named, if it does not take the value."""
    try:
        [found] = configured_options(COMMANDS[name], tuple(name.split()), here)
    except InvalidInput as error:
        [fault] = error.faults
        assert "has no option" not in fault.problem
        return fault.field
    except UsageError as error:
        return error.message.partition(":")[0]
    return found.name


def test_the_command_line_precedes_a_variable_and_a_variable_the_file(envbuilder: CommandLine) -> None:
    def count(*words: str) -> int:
        document = json.loads(envbuilder("advise", "--tensorflow", "2", "--json", *words).stdout)
        return len(document["fits"])

    assert count() == 5
    envbuilder.configure("[command.advise]\nlimit = 3\n")
    assert count() == 3
    envbuilder.set("ENVBUILDER_ADVISE_LIMIT", "2")
    assert count() == 2
    assert count("--limit", "1") == 1


def test_flags_lists_and_switches(envbuilder: CommandLine) -> None:
    envbuilder.configure(
        "[command.build]\npush = true\nno-cache = true\ntag = ['a', 'b']\njobs = 4\n"
        "[command.run]\ngpus = false\nenv = ['A=1']\n[command.list]\nfits = true\n"
    )
    assert configured("build") == {"push": True, "use_cache": False, "tags": ["a", "b"], "jobs": "4"}
    assert configured("run") == {"gpus": False, "variables": ["A=1"]}
    envbuilder.set("ENVBUILDER_BUILD_NO_CACHE", "no")
    envbuilder.set("ENVBUILDER_BUILD_TAG", "c 'd e'")
    assert configured("build") == {"push": True, "use_cache": True, "tags": ["c", "d e"], "jobs": "4"}


def test_options_below_a_group(envbuilder: CommandLine) -> None:
    envbuilder.configure("[command.cache.list]\njson = true\n[command.catalog.availability]\njson = true\n")
    assert json.loads(envbuilder("cache", "list").stdout)["schema"] == 1
    ended = envbuilder("catalog", "availability", "nothing*")
    assert json.loads(ended.stdout)["error"]["kind"] == "unknown-environment"


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("[command.lits]\njson = true", "2: command.lits: no such command (did you mean command.list?)"),
        (
            "[command.list]\njsno = true",
            "2: command.list.jsno: `envbuilder list` has no option --jsno (did you mean json?)",
        ),
        (
            "[command.list]\nindex = 'x'",
            "`envbuilder list` has no option --index (write it outside of the table: index is a setting)",
        ),
        ("[command.list]\njson = 'perhaps'", "2: command.list.json: 'perhaps' is not true or false"),
        ("[command.list]\n\ngpus = 'perhaps'", "3: command.list.gpus: 'perhaps' is not true or false"),
    ],
)
def test_a_fault_of_a_table_has_its_line(envbuilder: CommandLine, table: str, told: str) -> None:
    envbuilder.configure(table)
    ended = envbuilder("list")
    assert ended.status == 3
    assert told in " ".join(ended.stderr.split())
    assert told in " ".join(envbuilder("config", "show").stderr.split())


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("jobs = 'four'", "command.build.jobs: 'four' is not a valid integer range"),
        ("jobs = true", "command.build.jobs: must be a text in quotes, not true or false"),
        ("jobs = [1]", "command.build.jobs: must be one value, not a list"),
        ("tag = 'x'", "command.build.tag: must be a list"),
        ("engine = 'podman'", "command.build.engine: 'podman' is not one of"),
    ],
)
def test_a_value_that_an_option_does_not_take_is_a_fault(envbuilder: CommandLine, table: str, told: str) -> None:
    envbuilder.configure(f"[command.build]\n{table}\n")
    ended = envbuilder("build", "tf-2.15-cpu")
    assert ended.status == 3
    assert told in " ".join(ended.stderr.split())


def test_a_variable_with_a_wrong_value_is_named(envbuilder: CommandLine) -> None:
    envbuilder.set("ENVBUILDER_BUILD_JOBS", "four")
    ended = envbuilder("build", "tf-2.15-cpu")
    assert ended.status == 2
    assert "ENVBUILDER_BUILD_JOBS: 'four' is not a valid integer range" in ended.stderr
    assert "`unset ENVBUILDER_BUILD_JOBS`" in ended.stderr


def test_a_variable_of_a_setting_with_a_wrong_value_is_named(envbuilder: CommandLine) -> None:
    envbuilder.set("ENVBUILDER_COLOR", "blue")
    ended = envbuilder("list")
    assert ended.status == 2
    assert "ENVBUILDER_COLOR: 'blue' is not one of auto, always, never" in ended.stderr
    assert envbuilder("list", "--help").status == 0


def test_help_is_there_with_an_invalid_configuration(envbuilder: CommandLine) -> None:
    envbuilder.configure("nonsense = 1\n")
    assert envbuilder("list", "--help").status == 0
    assert envbuilder("--help").status == 0
    assert envbuilder("run", "tf-2.15-cpu", "python", "x.py", "--help").status == 3


def test_every_value_is_shown_with_its_origin_and_no_password(envbuilder: CommandLine) -> None:
    file = envbuilder.configure('index = "https://me:secret@index.example/simple"\n[command.build]\nno-cache = true\n')
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        envbuilder.unset(name)
    envbuilder.set("ENVBUILDER_OSV", "a b")
    envbuilder.set("ENVBUILDER_CACHE_PRUNE_ALL", "1")
    envbuilder.set("ENVBUILDER_JOBS", "3")
    ended = envbuilder("config", "show", "--json")
    assert "secret" not in ended.stdout
    shown = json.loads(ended.stdout)
    assert (shown["file"], shown["exists"]) == (str(file), True)
    values = {each["key"]: (each["value"], each["origin"]) for each in shown["settings"]}
    assert [each["key"] for each in shown["settings"]] == [setting.key for setting in SETTINGS]
    assert values["index"] == ("https://index.example/simple", f"{file}:1")
    assert values["osv"] == (["a", "b"], "ENVBUILDER_OSV")
    assert values["color"] == ("auto", "default")
    assert values["mirror"] == (None, "default")
    assert values["accept-nvidia-eula"] == (False, "default")
    assert [(each["command"], each["option"], each["value"], each["origin"]) for each in shown["options"]] == [
        ("build", "--no-cache", "true", f"{file}:3"),
        ("cache prune", "--all", "1", "ENVBUILDER_CACHE_PRUNE_ALL"),
    ]
    assert shown["unused_variables"] == ["ENVBUILDER_JOBS"]
    text = envbuilder("config", "show")
    assert "secret" not in text.stdout
    assert "ENVBUILDER_JOBS is set, but there is no such setting or option" in text.stdout


def test_a_variable_that_sets_nothing_is_a_warning_with_the_nearest_name(envbuilder: CommandLine) -> None:
    envbuilder.set("ENVBUILDER_CAHCE", "/data")
    envbuilder.set("ENVBUILDER_TOKEN_OF_MINE", "x")
    hint = "`envbuilder config show` lists the settings"
    for arguments in (("list", "--json"), ("cache", "list", "--json"), ("-q", "list", "--json")):
        ended = envbuilder(*arguments)
        assert json.loads(ended.stdout)["schema"] == 1
        assert ended.stderr.splitlines() == [
            "warning: ENVBUILDER_CAHCE is ignored: there is no such setting or option; did you mean ENVBUILDER_CACHE?",
            "warning: ENVBUILDER_TOKEN_OF_MINE is ignored: there is no such setting or option; " + hint,
        ]


def test_the_options_of_the_running_command_are_known_and_those_of_others_may_exist(envbuilder: CommandLine) -> None:
    envbuilder.set("ENVBUILDER_LIST_FIT", "host.json")
    envbuilder.set("ENVBUILDER_BUILD_JBOS", "3")
    assert [line.partition(":")[2] for line in envbuilder("list").stderr.splitlines()] == [
        " ENVBUILDER_LIST_FIT is ignored: there is no such setting or option; did you mean ENVBUILDER_LIST_FITS?"
    ]


@pytest.mark.parametrize("arguments", [("list", "--color", "never", "--progress", "json"), ("--progress=json", "list")])
def test_such_a_warning_is_an_event_where_progress_is_json(envbuilder: CommandLine, arguments: tuple[str, ...]) -> None:
    envbuilder.set("ENVBUILDER_CAHCE", "/data")
    [event] = map(json.loads, envbuilder(*arguments).stderr.splitlines())
    assert (event["event"], event["message"].split()[0]) == ("warning", "ENVBUILDER_CAHCE")


@pytest.mark.parametrize(
    "variables",
    [
        # Of images, workers, job scripts and tests.
        dict.fromkeys(OTHER_VARIABLES - {OPTIONS_SENT, "ENVBUILDER_CONFIG"}, "1"),
        # Kubernetes sets these in every pod, if a service has our name.
        {
            "ENVBUILDER_SERVICE_HOST": "192.0.2.1",
            "ENVBUILDER_SERVICE_PORT_HTTP": "80",
            "ENVBUILDER_PORT": "tcp://192.0.2.1:80",
            "ENVBUILDER_PORT_80_TCP_ADDR": "192.0.2.1",
        },
        {"ENVBUILDER_CAHCE": ""},
        # Of a worker of `--on`, whose caller had the same variables.
        {"ENVBUILDER_CAHCE": "/data", OPTIONS_SENT: "1"},
    ],
)
def test_variables_that_others_read_are_no_warning(envbuilder: CommandLine, variables: dict[str, str]) -> None:
    for name, text in variables.items():
        envbuilder.set(name, text)
    assert envbuilder("list").stderr == ""
    if OPTIONS_SENT not in variables:
        assert json.loads(envbuilder("config", "show", "--json").stdout)["unused_variables"] == []


def test_neither_help_nor_completions_warn_and_config_show_lists_unknown_variables(envbuilder: CommandLine) -> None:
    envbuilder.set("ENVBUILDER_CAHCE", "/data")
    assert envbuilder("--help").stderr == envbuilder("list", "--help").stderr == ""
    shown = envbuilder("config", "show")
    assert (
        "ENVBUILDER_CAHCE is set, but there is no such setting or option; did you mean ENVBUILDER_CACHE?"
        in shown.stdout
    )
    assert shown.stderr == ""
    envbuilder.set("_ENVBUILDER_COMPLETE", "bash_complete")
    envbuilder.set("COMP_WORDS", "envbuilder list --f")
    envbuilder.set("COMP_CWORD", "2")
    assert envbuilder().stderr == ""
