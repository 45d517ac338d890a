"""The Python interface: its names, what it returns and raises, and that it prints nothing."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuilder import api
from tests.repo.test_import_closure import closure
from tests.unit.cli.hostile_world import HostileWorld, address, hostile_world
from tests.unit.cli.running import CommandLine
from tests.unit.image.base.test_locate import archive


@pytest.fixture
def world(envbuilder: CommandLine) -> Iterator[HostileWorld]:
    with hostile_world(envbuilder) as made:
        yield made


@pytest.fixture(autouse=True)
def silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Use a cache of its own, and fail a test if the interface prints something."""
    monkeypatch.setenv("ENVBUILDER_CACHE", str(tmp_path / "cache"))
    yield
    assert capsys.readouterr() == ("", "")


def sources(world: HostileWorld) -> api.Sources:
    """Return the sources that the options of the command line name in this world."""
    return api.Sources(
        index=f"{address('index', f'127.0.0.1:{world.index.server_port}')}/simple/",
        registry_mirror=world.base_registry.host,
        python_archives=(str(archive(world.home, "3.8.18")),),
    )


@pytest.mark.parametrize("name", api.__all__)
def test_every_name_is_there_and_documented(name: str) -> None:
    assert getattr(api, name).__doc__
    assert name in dir(api)


def test_names_are_where_the_table_says_and_no_others_are_promised() -> None:
    assert sorted(api._PLACES) == api.__all__ == sorted(api.__all__)
    assert all(hasattr(importlib.import_module(module), name) for name, module in api._PLACES.items())


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lokc'"):
        api.lokc  # noqa: B018  the access is the test


def test_the_interface_imports_nothing_of_the_command_line() -> None:
    modules = closure("envbuilder.api.images") | closure("envbuilder.api.advice")
    assert not [name for name in modules if name.startswith("envbuilder.cli")]


def test_a_lock_is_made_built_and_validated(world: HostileWorld, tmp_path: Path) -> None:
    told: list[str] = []
    made = api.lock(Path("envbuilder.yaml"), sources=sources(world), progress=told.append)
    assert told
    api.write_lock(made, tmp_path / "toy.lock")
    assert api.read_lock(tmp_path / "toy.lock") == made
    events: list[api.BuildEvent] = []
    image = api.build(
        made,
        names=("team/toy:1",),
        engine=api.Engine.ASSEMBLE,
        options=api.BuildOptions(output=tmp_path / "layout"),
        sources=sources(world),
        listener=events.append,
    )
    assert events
    assert image.names == ("team/toy:1",)
    assert json.loads((tmp_path / "layout" / "index.json").read_text())["manifests"][0]["digest"] == image.manifest
    report = api.validate(str(tmp_path / "layout"), lock=image.lock, tier=api.Tier.STATIC)
    assert report.subject == str(tmp_path / "layout")
    assert report.results
    assert world.leaks() == []


def test_a_faulty_spec_raises_all_its_faults_as_data(envbuilder: CommandLine) -> None:
    spec = envbuilder.write("x.yaml", 'environment: "tf-2.15-cpu"\npython: 3.8\npakages: ["six"]\n')
    with pytest.raises(api.InvalidInput) as caught:
        api.lock(spec)
    assert [(fault.line, fault.field) for fault in caught.value.faults] == [(2, "python"), (3, "pakages")]


def test_a_lock_that_does_not_pin_everything_is_not_built(envbuilder: CommandLine) -> None:
    made = api.lock(api.Spec(environment="tf-2.4-cuda11.0", base="debian-bookworm"), offline=True)
    assert made.unpinned
    with pytest.raises(api.UsageError, match="the lock cannot be built: it does not pin base debian-bookworm"):
        api.build(made)


def test_a_log_is_read_from_a_file_as_from_a_text(tmp_path: Path) -> None:
    text = "ImportError: libcudart.so.10.1: cannot open shared object file: No such file or directory\n"
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    found = api.diagnose(tmp_path / "train.log")
    assert found == api.diagnose(text) == api.diagnose(text.encode())
    assert found.causes[0].finding.id == "cuda-soname-missing"


def test_facts_that_are_none_are_refused() -> None:
    made = api.lock("tf-2.15-cpu", offline=True)
    with pytest.raises(api.InvalidInput):
        api.validate_facts("[]", made)
