"""`envbuilder export` writes to standard output or to a new file."""

from __future__ import annotations

from tests.fakes.catalogs import DATA
from tests.unit.cli.running import CommandLine


def with_lock(envbuilder: CommandLine) -> None:
    envbuilder.write("envbuilder.lock", (DATA / "good.lock").read_text(encoding="utf-8"))


def test_the_lock_of_the_directory_goes_to_standard_output(envbuilder: CommandLine) -> None:
    with_lock(envbuilder)
    ended = envbuilder("export", "requirements")
    assert ended.status == 0
    assert "tensorflow" in ended.stdout
    assert ended.stdout.endswith("\n")


def test_the_image_is_that_of_build_or_the_named_one(envbuilder: CommandLine) -> None:
    with_lock(envbuilder)
    assert "envbuilder/team:latest" in envbuilder("export", "compose", "envbuilder.lock").stdout
    assert "here/tf:1" in envbuilder("export", "compose", "envbuilder.lock", "--image", "here/tf:1").stdout
    assert envbuilder("export", "compose", "envbuilder.lock", "--image", "No Image").status == 2


def test_a_file_is_not_overwritten_without_force(envbuilder: CommandLine) -> None:
    with_lock(envbuilder)
    file = envbuilder.write("compose.yaml", "mine")
    refused = envbuilder("export", "compose", "envbuilder.lock", "-o", "compose.yaml")
    assert (refused.status, file.read_text(encoding="utf-8")) == (2, "mine")
    assert "--force" in refused.stderr
    assert envbuilder("export", "compose", "envbuilder.lock", "-o", "compose.yaml", "--force").status == 0
    assert "services" in file.read_text(encoding="utf-8")


def test_an_unknown_format_is_a_usage_error(envbuilder: CommandLine) -> None:
    assert envbuilder("export", "poetry", "tf-2.15-cpu").status == 2
