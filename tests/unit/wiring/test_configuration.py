"""Settings come from variables, else from the configuration file; every fault of the file has its line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.errors import InvalidInput, UsageError
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.configuration import LAYER_CACHE, MIRROR, SETTINGS, Option
from envbuilder.wiring.configuration_file import parse
from envbuilder.wiring.layer_caches import caches_to_read
from envbuilder.wiring.settings import settings
from tests.fakes.catalogs import ROOT
from tests.unit.cli.running import CommandLine

QUOTE = (
    "write it as [command.NAME] OPTION = VALUE, with a text in quotes, a whole number, true, false, or a list of them"
)
PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
FILE = Path("/home/me/config.toml")
_ALL = """\
# Sources of this site.
index = "https://index.example/simple"
cache = "big"

layer-cache = [
  "registry.example/tf/layers",   # ours
]

[command.build]
engine = "assemble"
jobs = 4

[command.cache.prune]
all = true
"""


def faults(text: str) -> list[str]:
    """Return the faults of a file, without its path."""
    with pytest.raises(InvalidInput) as wrong:
        parse(text, FILE)
    return [str(fault).removeprefix(f"{FILE}:") for fault in wrong.value.faults]


def test_settings_and_options_know_their_lines() -> None:
    found = parse(_ALL, FILE)

    assert found.settings["layer-cache"].words == ("registry.example/tf/layers",)
    assert [each.origin for each in found.settings.values()] == [f"{FILE}:{line}" for line in (2, 3, 5)]
    assert found.settings["cache"].path == FILE.parent / "big"
    assert found.commands == {
        ("build",): {"engine": Option(value="assemble", line=10), "jobs": Option(value=4, line=11)},
        ("cache", "prune"): {"all": Option(value=True, line=14)},
    }


def test_all_faults_are_told_with_lines_and_hints() -> None:
    wrong = """\
idnex = "https://index.example"
cache = 4
layer-cache = "registry.example/tf"
accept-nvidia-eula = "yes"
[command.build]
jobs = 2.5
[somewhere]
x = 1
"""
    assert faults(wrong) == [
        "1: idnex: unknown setting (did you mean index?)",
        "2: cache: must be a path in quotes",
        "3: layer-cache: must be a list of texts",
        "4: accept-nvidia-eula: must be true or false",
        f"6: command.build.jobs: not the value of an option ({QUOTE})",
        "7: somewhere: unknown setting (`envbuilder config show` lists all settings)",
    ]


def test_an_option_outside_of_a_command_is_a_fault() -> None:
    assert faults("[command]\njobs = 2\n")[0].startswith("2: command.jobs: not the value of an option")


@pytest.mark.parametrize(("text", "line"), [("a =\n", 1), ("cache = 'x'\ncache = 'y'\n", 2), ("x = [\n1,\n", 2)])
def test_what_is_no_toml_is_a_fault_with_its_line(text: str, line: int) -> None:
    assert faults(text)[0].startswith(f"{line}: not TOML: ")


@given(st.text())
def test_any_text_is_a_configuration_or_has_faults(text: str) -> None:
    try:
        parse(text, FILE)
    except InvalidInput as error:
        assert error.faults  # noqa: PT017  either outcome is right


@given(st.lists(st.sampled_from(SETTINGS), unique=True), st.integers(0, 3))
def test_every_key_is_found_on_its_line(some: list[object], blank: int) -> None:
    keys = [each.key for each in SETTINGS if each in some]
    text = "".join(f"{key} = 1\n" + "\n" * blank for key in keys)
    assert sorted(tomllib.loads(text)) == sorted(keys)
    told = faults(text) if keys else []
    assert [each.split(":")[0] for each in told] == [str(1 + (blank + 1) * number) for number in range(len(keys))]


def test_a_variable_takes_precedence_over_the_file(envbuilder: CommandLine) -> None:
    file = envbuilder.configure('mirror = "registry.example/files"\nlayer-cache = ["a.example/x"]\n')
    given = settings().given(MIRROR)
    assert given is not None
    assert (given.words, given.origin) == (("registry.example/files",), f"{file}:1")

    envbuilder.set("ENVBUILDER_LAYER_CACHE", "b.example/x  c.example/y")
    found = settings().given(LAYER_CACHE)
    assert found is not None
    assert (found.words, found.origin) == (("b.example/x", "c.example/y"), "ENVBUILDER_LAYER_CACHE")


def test_a_wrong_value_is_told_with_its_line_when_it_is_used(envbuilder: CommandLine) -> None:
    file = envbuilder.configure('\nlayer-cache = ["nonsense"]\n')
    with pytest.raises(UsageError, match=f"{file}:2: 'nonsense' is not a repository"):
        caches_to_read(settings(), Sources())


def test_flags_of_file_and_variable(envbuilder: CommandLine) -> None:
    assert not settings().accepts_nvidia_eula
    envbuilder.configure("accept-nvidia-eula = true\nallow-host-builds = true\n")
    assert settings().accepts_nvidia_eula
    assert settings().allow_host_builds
    envbuilder.set("ENVBUILDER_ACCEPT_NVIDIA_EULA", "no")
    assert not settings().accepts_nvidia_eula
    envbuilder.set("ENVBUILDER_ACCEPT_NVIDIA_EULA", "perhaps")
    with pytest.raises(UsageError, match="ENVBUILDER_ACCEPT_NVIDIA_EULA: 'perhaps' is not one of 1, true"):
        _ = settings().accepts_nvidia_eula


def test_paths_of_the_file_are_relative_to_it(envbuilder: CommandLine) -> None:
    envbuilder.unset("ENVBUILDER_CACHE")
    folder = envbuilder.configure('cache = "../../big"\nosv = ["osv", "https://osv.example/db"]\n').parent
    found = settings()
    assert found.cache_path == folder / "../../big"
    assert found.vulnerability_databases == (str(folder / "osv"), "https://osv.example/db")


def test_the_index_of_a_variable_of_uv_precedes_that_of_the_file(envbuilder: CommandLine) -> None:
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        envbuilder.unset(name)
    file = envbuilder.configure('index = "https://a.example/simple"\n')
    assert (settings().index, settings().index_origin) == ("https://a.example/simple", f"{file}:1")
    envbuilder.set("PIP_INDEX_URL", "https://b.example/simple")
    assert (settings().index, settings().index_origin) == ("https://b.example/simple", "PIP_INDEX_URL")
    envbuilder.set("ENVBUILDER_INDEX", "https://c.example/simple")
    assert (settings().index, settings().index_origin) == ("https://c.example/simple", "ENVBUILDER_INDEX")


def test_the_directory_of_xdg_and_the_named_file(envbuilder: CommandLine, tmp_path: Path) -> None:
    envbuilder.configure('mirror = "home.example/x"\n')
    (tmp_path / "envbuilder").mkdir()
    (tmp_path / "envbuilder" / "config.toml").write_text('mirror = "xdg.example/x"\n')
    envbuilder.set("XDG_CONFIG_HOME", "relative")
    assert settings().words(MIRROR) == ("home.example/x",)
    envbuilder.set("XDG_CONFIG_HOME", str(tmp_path))
    assert settings().words(MIRROR) == ("xdg.example/x",)
    envbuilder.set("ENVBUILDER_CONFIG", "/dev/null")
    assert settings().words(MIRROR) == ()
    envbuilder.set("ENVBUILDER_CONFIG", "missing.toml")
    with pytest.raises(UsageError, match=r"ENVBUILDER_CONFIG: no such file: missing\.toml"):
        settings()


def test_a_fault_of_the_file_ends_every_command(envbuilder: CommandLine) -> None:
    file = envbuilder.configure("cahce = 'x'\n")
    ended = envbuilder("list")
    assert ended.status == 3
    assert f"{file}:1: cahce: unknown setting (did you mean cache?)" in ended.stderr


def test_the_page_names_every_setting_and_its_variable_and_no_other() -> None:
    rows = [row for row in PAGE.splitlines() if row.startswith("| `")]
    named = {word for row in rows for cell in row.split("|")[1:3] for word in re.findall("`([^`]+)`", cell)}
    others = {"UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"}
    assert named - others == {word for each in SETTINGS for word in (each.key, each.variable)}
