"""`--tensorflow` and `--upgrade`: what a row has, on purpose in another version."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from datetime import date

import pytest
from packaging.version import Version

from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.core.memory_policy import HOOK
from envbuilder.diagnostics.probe.script import memory_hook, probe_source
from envbuilder.image.base.file_store import FileStore
from envbuilder.lock.create import lock
from envbuilder.lock.lock import Lock, ToolName
from envbuilder.lock.lockfile import dump
from envbuilder.lock.spec import Spec
from tests.fakes.catalogs import DATA, good_lock
from tests.fakes.ports import UV, lock_ports
from tests.unit.cli.running import CommandLine

OTHERS = """\
  others:
    - version: "2.15.0"
      pythons:
        - "3.11"
"""
SPEC_TEXT = 'environment: "tf-2.15-cpu"\n'


@pytest.fixture
def two_releases(envbuilder: CommandLine) -> CommandLine:
    """A catalog whose CPU row can be had as 2.15.0 too."""
    matrices = envbuilder.folder / "matrices"
    shutil.copytree(DATA / "catalog", matrices)
    row = matrices / "environments" / "tf-2.15-cpu.yaml"
    text = row.read_text(encoding="utf-8")
    assert "  glibc:" in text
    row.write_text(text.replace("  glibc:", f"{OTHERS}  glibc:"), encoding="utf-8")
    envbuilder.set("ENVBUILDER_MATRICES", str(matrices))
    return envbuilder


def locked(here: CommandLine, version: str | None = None, upgrade: date | None = None) -> Lock:
    """A lock of the CPU row by this version; the uv that it names lies in the cache folder."""
    tool = here.write("uv", "#!/bin/sh\n")
    pin = replace(UV, sha256=FileStore(folder=here.folder / "cache" / "files").add(tool))
    spec = Spec(environment="tf-2.15-cpu", tensorflow=Version(version) if version else None)
    own = [
        replace(UV, name=name, sha256=hashlib.sha256(content).hexdigest())
        for name, content in ((HOOK, memory_hook()), (ToolName.PROBE, probe_source()))
    ]
    ports = lock_ports(tools=(*own, pin))
    return lock(load_catalog(here.folder / "matrices"), spec, ports, upgrade=upgrade)


@pytest.mark.parametrize("verb", [("build",), ("render", "-o", "out")])
def test_a_release_that_the_row_does_not_have_is_told_with_those_that_are(
    two_releases: CommandLine, verb: tuple[str, ...]
) -> None:
    ended = two_releases(*verb, "tf-2.15-cpu", "--tensorflow", "2.14.0")
    assert ended.status == 2
    assert "tf-2.15-cpu does not have TensorFlow 2.14.0" in ended.stderr
    assert "next: it has 2.15.0, 2.15.1" in ended.stderr


@pytest.mark.parametrize("verb", [("build",), ("render", "-o", "out")])
def test_what_is_no_version_is_a_usage_error(envbuilder: CommandLine, verb: tuple[str, ...]) -> None:
    ended = envbuilder(*verb, "tf-2.15-cpu", "--tensorflow", "newest")
    assert ended.status == 2
    assert "'newest' is not a version" in ended.stderr


@pytest.mark.parametrize("verb", [("build",), ("render", "-o", "out")])
def test_a_lock_has_its_release_already(envbuilder: CommandLine, verb: tuple[str, ...]) -> None:
    envbuilder.write("x.lock", dump(good_lock()))
    ended = envbuilder(*verb, "x.lock", "--tensorflow", "2.4.1")
    assert ended.status == 2
    assert 'next: put `tensorflow: "2.4.1"` into the spec, then run `envbuilder lock`' in ended.stderr


def test_another_release_has_a_lock_of_its_own_in_the_cache(two_releases: CommandLine) -> None:
    kept = two_releases.folder / "cache" / "locks" / "tf-2.15-cpu@2.15.0"
    kept.mkdir(parents=True)
    (kept / "envbuilder.lock").write_text(dump(locked(two_releases, "2.15.0")), encoding="utf-8")
    ended = two_releases("render", "tf-2.15-cpu", "--tensorflow", "2.15.0", "-o", "out")
    assert ended.status == 0, ended.stderr
    assert "using the lock" in ended.stderr
    rendered = (two_releases.folder / "out" / "envbuilder.lock").read_text(encoding="utf-8")
    assert "TensorFlow is 2.15.0 instead of 2.15.1" in rendered


@pytest.mark.parametrize(
    ("day", "problem", "remedy"),
    [
        ("soon", "'soon' is not a date", "next: use the form YYYY-MM-DD, such as 2026-06-01"),
        ("2026-02-30", "'2026-02-30' is not a date", "next: use the form YYYY-MM-DD, such as 2026-06-01"),
        (
            "9999-01-01",
            "9999-01-01 is in the future: the lock would not be reproducible",
            "next: use today or an earlier date",
        ),
    ],
)
def test_a_day_that_cannot_be_is_told_before_anything_is_done(
    envbuilder: CommandLine, day: str, problem: str, remedy: str
) -> None:
    envbuilder.write("envbuilder.yaml", SPEC_TEXT)
    ended = envbuilder("lock", "--upgrade", "--as-of", day)
    assert ended.status == 2
    assert problem in ended.stderr
    assert remedy in ended.stderr
    assert not (envbuilder.folder / "cache").exists()


def test_a_lock_that_was_upgraded_on_purpose_is_up_to_date(two_releases: CommandLine) -> None:
    two_releases.write("envbuilder.yaml", SPEC_TEXT)
    two_releases.write("envbuilder.lock", dump(locked(two_releases, upgrade=date(2025, 3, 1))))
    ended = two_releases("lock", "--check")
    assert (ended.status, ended.stdout) == (0, "envbuilder.lock is up to date\n")


def test_a_spec_that_names_another_release_leaves_its_lock_behind(two_releases: CommandLine) -> None:
    two_releases.write("envbuilder.lock", dump(locked(two_releases)))
    two_releases.write("envbuilder.yaml", f'{SPEC_TEXT}tensorflow: "2.15.0"\n')
    ended = two_releases("lock", "--check")
    assert ended.status == 1
    assert "row.tensorflow tensorflow-cpu==2.15.1 -> tensorflow-cpu==2.15.0" in ended.stdout
    assert "+ spec.tensorflow 2.15.0" in ended.stdout
