"""Settings of containers: what a spec says of them is in the lock, and every other lock is as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import InvalidInput
from envbuilder.lock.container_settings import ContainerSettings, Healthcheck, duration_text
from envbuilder.lock.diff import compare
from envbuilder.lock.lock import Lock, OwnFile
from envbuilder.lock.lockfile import digest, dump, load
from envbuilder.lock.targets import load_spec
from tests.fakes.catalogs import good_lock, small_catalog
from tests.fakes.specs import read_spec

EVERY = ContainerSettings(
    command=("--fast",),
    entrypoint=("python", "-m", "vision"),
    ports=("6006/udp", "8888/tcp"),
    labels=(("owner", "team"),),
    workdir="/srv/model",
    healthcheck=Healthcheck(command=("true",), start_period=60),
)


def with_settings(settings: ContainerSettings) -> Lock:
    return replace(good_lock(), settings=settings)


def test_a_lock_without_settings_has_the_text_that_it_had_before_there_were_any() -> None:
    fields = {line.partition(":")[0] for line in dump(good_lock()).splitlines() if line[0].isalpha()}
    assert not fields & {"command", "entrypoint", "ports", "labels", "workdir", "healthcheck"}


def test_every_setting_decides_the_digest_and_is_a_difference() -> None:
    for name in EVERY.__dataclass_fields__:
        changed = with_settings(replace(ContainerSettings(), **{name: getattr(EVERY, name)}))
        assert digest(changed) != digest(good_lock()), name
        assert [change.field.partition(".")[0] for change in compare(good_lock(), changed)] == [name]
        assert load(dump(changed), "file") == changed


def test_no_entry_point_is_not_the_entry_point_of_the_base() -> None:
    none = with_settings(ContainerSettings(entrypoint=()))
    assert load(dump(none), "file") == none
    assert digest(none) != digest(good_lock())


def test_the_differences_can_be_read() -> None:
    assert [str(change) for change in compare(good_lock(), with_settings(EVERY))] == [
        '+ command ["--fast"]',
        '+ entrypoint ["python", "-m", "vision"]',
        '+ healthcheck ["true"] every 30s, from 1m after the start, at most 30s, unhealthy after 3',
        '+ labels.owner "team"',
        "+ ports 6006/udp, 8888/tcp",
        "+ workdir /srv/model",
    ]


@pytest.mark.parametrize("seconds", [1, 59, 60, 61, 3600, 86400])
def test_a_duration_is_read_as_it_is_written(seconds: int) -> None:
    text = f'environment: "x"\nhealthcheck:\n  command: ["true"]\n  interval: "{duration_text(seconds)}"\n'
    check = read_spec(text, "file").settings.healthcheck
    assert check is not None
    assert check.interval == seconds


@pytest.mark.parametrize("workdir", ["/app/run", "/app/run/below"])
def test_a_working_directory_that_is_an_own_file_is_refused_with_its_line(tmp_path: Path, workdir: str) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "run").write_text("x", encoding="utf-8")
    spec = tmp_path / "envbuilder.yaml"
    spec.write_text(f'environment: "x"\nworkdir: "{workdir}"\nfiles:\n  "/app": "app"\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match="/app/run is a file in `files:`") as caught:
        load_spec(spec, small_catalog())
    assert [(fault.line, fault.field) for fault in caught.value.faults] == [(2, "workdir")]


def test_a_lock_whose_working_directory_is_an_own_file_is_refused() -> None:
    file = OwnFile(path="/app/run", sha256="a" * 64, size=1)
    lock = replace(good_lock(), files=(file,), settings=ContainerSettings(workdir="/app/run"))
    with pytest.raises(InvalidInput, match="workdir: /app/run is a file in `files:`"):
        load(dump(lock), "file")
