"""Every verb ends with its documented status and says what to do next."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from envbuilder.image.base.file_store import FileStore
from envbuilder.lock.create import lock
from envbuilder.lock.lock import PackageGroup
from envbuilder.lock.lockfile import dump
from envbuilder.lock.spec import Spec
from tests.command_tree import commands_and_groups
from tests.fakes.catalogs import DATA, good_lock, real_catalog
from tests.fakes.ports import UV, lock_ports
from tests.unit.cli.running import CommandLine

SPEC_TEXT = 'environment: "tf-2.15-cpu"\n'


def fresh_lock() -> str:
    """A lock of the CPU row that is up to date."""
    return dump(lock(real_catalog(), Spec(environment="tf-2.15-cpu"), lock_ports()))


@pytest.mark.parametrize("name", commands_and_groups())
def test_every_command_explains_itself(envbuilder: CommandLine, name: str) -> None:
    ended = envbuilder(*name.split(), "--help")
    assert ended.status == 0
    assert f"Usage: envbuilder {name}" in ended.stdout


def test_without_a_verb_the_help_is_shown(envbuilder: CommandLine) -> None:
    ended = envbuilder()
    assert ended.status == 2
    assert "Usage: envbuilder" in ended.stdout + ended.stderr


def test_the_version_is_told(envbuilder: CommandLine) -> None:
    assert envbuilder("--version").stdout.startswith("envbuilder, version ")


def test_a_verb_that_does_not_exist_suggests_the_nearest(envbuilder: CommandLine) -> None:
    ended = envbuilder("biuld")
    assert ended.status == 2
    assert "Did you mean 'build'?" in ended.stderr


def test_an_option_that_does_not_exist_is_a_usage_error(envbuilder: CommandLine) -> None:
    assert envbuilder("list", "--all").status == 2


@pytest.mark.parametrize(
    "arguments", [("show", "tf-2.15-gpu"), ("init", "tf-2.15-"), ("build", "tf-2.15-cp"), ("list", "tf-2.15-c")]
)
def test_an_unknown_environment_is_a_usage_error_with_a_suggestion(
    envbuilder: CommandLine, arguments: tuple[str, ...]
) -> None:
    ended = envbuilder(*arguments)
    assert ended.status == 2
    assert ended.stdout == ""
    assert "next: did you mean tf-2.15-" in ended.stderr


def test_a_name_that_nothing_is_like_points_to_the_list(envbuilder: CommandLine) -> None:
    assert "next: `envbuilder list` shows all environments" in envbuilder("show", "zzz").stderr


def test_list_shows_every_environment_and_a_glob_fewer(envbuilder: CommandLine) -> None:
    every = {row.id for row in real_catalog().environments}
    shown = json.loads(envbuilder("list", "--json").stdout)["environments"]
    assert {row["id"] for row in shown} == every
    fewer = envbuilder("list", "tf-2.15-*").stdout.splitlines()[1:3]
    assert [line.split()[0] for line in fewer] == ["tf-2.15-cuda12.2", "tf-2.15-cpu"]


def test_another_catalog_is_used_when_it_is_named(envbuilder: CommandLine) -> None:
    envbuilder.set("ENVBUILDER_MATRICES", str(DATA / "catalog"))
    assert len(json.loads(envbuilder("list", "--json").stdout)["environments"]) == 3


def test_a_catalog_that_is_not_there_is_invalid_input(envbuilder: CommandLine) -> None:
    envbuilder.set("ENVBUILDER_MATRICES", str(envbuilder.folder / "nowhere"))
    ended = envbuilder("list")
    assert ended.status == 3
    assert "cannot be read: No such file or directory" in ended.stderr


def test_init_writes_a_spec_and_does_not_overwrite_one(envbuilder: CommandLine) -> None:
    first = envbuilder("init", "tf-2.15-cpu")
    assert (first.status, first.stdout.splitlines()[0]) == (0, "wrote envbuilder.yaml")
    again = envbuilder("init", "tf-2.4-cuda11.0")
    assert again.status == 2
    assert "--force" in again.stderr
    assert envbuilder("init", "tf-2.4-cuda11.0", "--force").status == 0
    assert "tf-2.4-cuda11.0" in (envbuilder.folder / "envbuilder.yaml").read_text(encoding="utf-8")


def test_a_wrong_spec_is_invalid_input_with_every_fault(envbuilder: CommandLine) -> None:
    envbuilder.write("envbuilder.yaml", "environment: 3.10\npython: 3.8\n")
    ended = envbuilder("lock")
    assert ended.status == 3
    assert "envbuilder.yaml:1: environment:" in ended.stderr
    assert "envbuilder.yaml:2: python:" in ended.stderr


def test_a_spec_that_is_not_text_is_invalid_input(envbuilder: CommandLine) -> None:
    (envbuilder.folder / "envbuilder.yaml").write_bytes(b"\xff\xfe\x00")
    ended = envbuilder("lock")
    assert ended.status == 3
    assert "not UTF-8" in ended.stderr


def test_a_spec_that_is_not_there_is_a_usage_error(envbuilder: CommandLine) -> None:
    ended = envbuilder("lock")
    assert ended.status == 2
    assert "envbuilder init ENV" in ended.stderr


def test_checking_without_a_lock_is_a_usage_error(envbuilder: CommandLine) -> None:
    envbuilder.write("envbuilder.yaml", SPEC_TEXT)
    assert envbuilder("lock", "--check").status == 2


def test_checking_an_up_to_date_lock_ends_well(envbuilder: CommandLine) -> None:
    envbuilder.write("envbuilder.yaml", SPEC_TEXT)
    envbuilder.write("envbuilder.lock", fresh_lock())
    ended = envbuilder("lock", "--check")
    assert (ended.status, ended.stdout) == (0, "envbuilder.lock is up to date\n")


def test_a_directory_stands_for_the_spec_in_it(envbuilder: CommandLine) -> None:
    (envbuilder.folder / "project").mkdir()
    envbuilder.write("project/envbuilder.yaml", SPEC_TEXT)
    envbuilder.write("project/envbuilder.lock", fresh_lock())
    ended = envbuilder("lock", "project", "--check")
    assert (ended.status, ended.stdout) == (0, "project/envbuilder.lock is up to date\n")


def test_checking_a_stale_lock_ends_with_1_and_names_the_change(envbuilder: CommandLine) -> None:
    envbuilder.write("envbuilder.yaml", f'{SPEC_TEXT}packages: ["six"]\n')
    envbuilder.write("envbuilder.lock", fresh_lock())
    ended = envbuilder("lock", "--check")
    assert ended.status == 1
    assert "+ spec.packages six\n" in ended.stdout
    told = envbuilder("lock", "--check", "--json")
    assert told.status == 1
    assert json.loads(told.stdout)["changes"] == [{"field": "spec.packages", "old": None, "new": "six"}]


def test_building_from_a_stale_lock_is_refused_before_anything_is_done(envbuilder: CommandLine) -> None:
    envbuilder.write("envbuilder.yaml", f'{SPEC_TEXT}packages: ["six"]\n')
    envbuilder.write("envbuilder.lock", fresh_lock())
    ended = envbuilder("build")
    assert ended.status == 2
    assert "envbuilder.lock is out of date" in ended.stderr
    assert "+ spec.packages six" in ended.stderr


def test_building_in_an_empty_folder_says_what_to_do(envbuilder: CommandLine) -> None:
    ended = envbuilder("build")
    assert ended.status == 2
    assert "next: name an environment: `envbuilder list`" in ended.stderr


def test_pushing_needs_a_tag(envbuilder: CommandLine) -> None:
    ended = envbuilder("build", "tf-2.15-cpu", "--push")
    assert ended.status == 2
    assert "--tag localhost:5000/team/tf:1" in ended.stderr


@pytest.mark.parametrize("tag", ["Upper:1", "a:b:c", ""])
def test_a_tag_that_is_none_is_a_usage_error(envbuilder: CommandLine, tag: str) -> None:
    assert envbuilder("build", "tf-2.15-cpu", "--tag", tag).status == 2


def test_equal_locks_do_not_differ(envbuilder: CommandLine) -> None:
    envbuilder.write("a.lock", dump(good_lock()))
    ended = envbuilder("diff", "a.lock", "a.lock")
    assert (ended.status, ended.stdout) == (0, "no differences\n")


def test_different_locks_end_with_1(envbuilder: CommandLine) -> None:
    envbuilder.write("a.lock", dump(good_lock()))
    without = tuple(pin for pin in good_lock().packages if pin.group is not PackageGroup.OWN)
    envbuilder.write("b.lock", dump(replace(good_lock(), packages=without)))
    ended = envbuilder("diff", "a.lock", "b.lock")
    assert ended.status == 1
    assert ended.stdout.splitlines()[-1].startswith("- packages.own.six 1.16.0")
    assert len(json.loads(envbuilder("diff", "a.lock", "b.lock", "--json").stdout)["changes"]) == 2


def test_a_lock_that_is_none_is_invalid_input(envbuilder: CommandLine) -> None:
    envbuilder.write("a.lock", "schema: 1\n")
    assert envbuilder("diff", "a.lock", "a.lock").status == 3


@pytest.fixture
def lock_with_a_stored_tool(envbuilder: CommandLine) -> str:
    """A lock of the CPU row whose only tool lies in the cache folder."""
    tool = envbuilder.write("uv", "#!/bin/sh\n")
    digest = FileStore(folder=envbuilder.folder / "cache" / "files").add(tool)
    made = lock(real_catalog(), Spec(environment="tf-2.15-cpu"), lock_ports())
    envbuilder.write("x.lock", dump(replace(made, tools=(replace(UV, sha256=digest),))))
    return "x.lock"


def test_a_lock_is_rendered_into_a_folder(envbuilder: CommandLine, lock_with_a_stored_tool: str) -> None:
    ended = envbuilder("render", lock_with_a_stored_tool, "-o", "out")
    assert ended.status == 0
    assert "next: `docker build" in ended.stdout
    assert (envbuilder.folder / "out" / "Dockerfile").is_file()
    files = json.loads(envbuilder("render", "x.lock", "-o", "out", "--json").stdout)["files"]
    assert {"Dockerfile", "envbuilder.lock", "tools/uv"} <= set(files)


def test_rendering_over_something_else_is_refused(envbuilder: CommandLine, lock_with_a_stored_tool: str) -> None:
    (envbuilder.folder / "out").mkdir()
    envbuilder.write("out/thesis.txt", "years of work")
    ended = envbuilder("render", lock_with_a_stored_tool, "-o", "out")
    assert ended.status == 2
    assert "were not written by `envbuilder render`" in ended.stderr


def test_the_bases_are_listed_with_what_this_machine_has(envbuilder: CommandLine) -> None:
    bases = json.loads(envbuilder("base", "list", "--json").stdout)["bases"]
    assert {base["id"] for base in bases} == {system.id for system in real_catalog().bases}
    assert {base["tree"] for base in bases} == {None}
    assert len(envbuilder("base", "list").stdout.splitlines()) == len(bases) + 1


def test_a_suite_that_the_catalog_does_not_have_is_told(envbuilder: CommandLine) -> None:
    ended = envbuilder("base", "bootstrap", "potato")
    assert ended.status == 2
    assert "it has bullseye, bookworm, trixie" in ended.stderr


def test_an_empty_store_of_interpreters_says_how_to_fill_it(envbuilder: CommandLine) -> None:
    assert "envbuilder python pack" in envbuilder("python", "list").stdout
    assert json.loads(envbuilder("python", "list", "--json").stdout)["archives"] == []


def test_a_python_that_is_installed_nowhere_cannot_be_packed(envbuilder: CommandLine) -> None:
    ended = envbuilder("python", "pack", "3.99")
    assert ended.status == 9
    assert "no suitable CPython 3.99 is installed" in ended.stderr
    assert "uv python install 3.99" in ended.stderr


@pytest.mark.parametrize("version", ["3", "2.7", "pypy3.8", "3.8-dev"])
def test_what_is_no_version_of_python_3_is_a_usage_error(envbuilder: CommandLine, version: str) -> None:
    ended = envbuilder("python", "pack", version)
    assert ended.status == 2
    assert "such as 3.8" in ended.stderr


def test_a_kept_lock_of_another_version_is_made_again(envbuilder: CommandLine) -> None:
    """The row's lock in the cache folder names the probe; everybody who builds a row gets that of this version."""
    place = envbuilder.folder / "cache" / "locks" / "tf-2.15-cpu"
    place.mkdir(parents=True)
    (place / "envbuilder.lock").write_text(fresh_lock(), encoding="utf-8")
    ended = envbuilder("plan", "tf-2.15-cpu", "--debian-mirror", "http://127.0.0.1:9/debian")
    assert "using the lock" not in ended.stderr


@pytest.mark.parametrize("target", ["/", "/proc", "/sys/fs", "/work/../dev/shm", "//"])
def test_a_mount_cannot_replace_what_the_container_needs(envbuilder: CommandLine, target: str) -> None:
    ended = envbuilder("run", "--engine", "assemble", "--mount", f".:{target}", "team/tf:1", "--", "true")
    assert ended.status == 2
    assert "is reserved for the container" in ended.stderr
    assert "--mount .:/work" in ended.stderr
