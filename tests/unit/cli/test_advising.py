"""`advise`, `list --fits`, `compare`, and the warnings before `build` and `validate`, as people type them."""

from __future__ import annotations

import json

import pytest

from envbuilder.catalog.machine import Host, HostGpu
from envbuilder.cli.output import preflight
from envbuilder.core.versions import Release
from envbuilder.lock.create import lock
from envbuilder.lock.lockfile import dump
from envbuilder.lock.spec import Spec
from envbuilder.wiring.settings import settings
from tests.fakes.catalogs import real_catalog
from tests.fakes.hosts import A100, GIB, K80, FakeGpu, host_document
from tests.fakes.ports import lock_ports
from tests.unit.cli.running import CommandLine

KEPLER = ("--gpu", "K80,V100", "--driver", "450.51")


def test_what_fits_ends_with_0_and_what_does_not_with_1(envbuilder: CommandLine) -> None:
    assert envbuilder("advise").status == 0
    assert envbuilder("advise", "--tensorflow", ">=2.4,<2.6", *KEPLER).status == 0
    refused = envbuilder("advise", "--tensorflow", ">=2.4,<2.6", "--keras", "2.2.4", *KEPLER)
    assert refused.status == 1
    assert "keras==2.4.3 instead of Keras 2.2.4" in refused.stdout


def test_the_document_has_everything_that_the_text_has(envbuilder: CommandLine) -> None:
    ended = envbuilder("advise", "--tensorflow", "2.4", "--driver", "418.87", "--gpu", "T4", "--json", "--limit", "1")
    document = json.loads(ended.stdout)
    assert (document["schema"], document["fits"]) == (1, [])
    near = document["nearest"][0]
    assert (near["environment"], near["verdict"]) == ("tf-2.4-cuda11.0", "does-not-fit")
    assert near["changes"] == [{"topic": "driver", "text": "update the driver to 450.51.06 or later"}]
    against = [reason for reason in near["reasons"] if reason["weight"] == "against"]
    assert [(reason["asked"], reason["has"]) for reason in against] == [("418.87", "450.51.06")]
    assert len(document["nearest"]) == 1


@pytest.mark.parametrize("columns", ["40", "80", "120"])
def test_no_line_is_wider_than_the_terminal(envbuilder: CommandLine, columns: str) -> None:
    envbuilder.set("COLUMNS", columns)
    host = str(envbuilder.write("k80.json", host_document("450.51.06", [K80])))
    other = str(envbuilder.write("a100.json", host_document("535.104.05", [A100])))
    for arguments in (
        ("advise", "--gpu", "RTX 5090", "--limit", "30"),
        ("advise", "--tensorflow", "1.4.1", "--keras", "2.2.4"),
        ("list", "--fits", host),
        ("compare", host, other),
    ):
        shown = envbuilder(*arguments).stdout
        wide = [line for line in shown.splitlines() if len(line) > int(columns)]
        # On 40 columns only what is copied whole is wider: a command, or a path.
        assert not [line for line in wide if columns != "40" or not _is_copied(line)], arguments


def _is_copied(line: str) -> bool:
    return line.lstrip().startswith("$ ") or len(line.split()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--tensorflow", "two"),
        ("--gpu", "K90"),
        ("--driver", "latest"),
        ("--base", "debian-woody"),
        ("--host", "missing.json"),
        ("--python", "three"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_usage(envbuilder: CommandLine, arguments: tuple[str, str]) -> None:
    assert envbuilder("advise", *arguments).status == 2


def test_a_facts_file_that_is_none_is_refused_with_its_fault(envbuilder: CommandLine) -> None:
    ended = envbuilder("advise", "--host", str(envbuilder.write("host.json", "[]")))
    assert ended.status == 3
    assert "host.json" in ended.stderr


def test_two_hosts_get_one_environment(envbuilder: CommandLine) -> None:
    old = str(envbuilder.write("old.json", host_document("450.51.06", [K80])))
    new = str(envbuilder.write("new.json", host_document("535.104.05", [A100])))
    document = json.loads(envbuilder("advise", "--host", old, "--host", new, "--json").stdout)
    assert document["fits"][0]["environment"] == "tf-2.4-cuda11.0"
    assert document["asked"] == (
        "old.json (driver 450.51.06, Tesla K80); new.json (driver 535.104.05, NVIDIA A100-SXM4-40GB)"
    )


def test_the_list_says_what_runs_on_a_host_and_why_the_rest_does_not(envbuilder: CommandLine) -> None:
    host = str(envbuilder.write("k80.json", host_document("450.51.06", [K80, K80])))
    shown = envbuilder("list", "tf-2.[45]*", "--fits", host).stdout
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in shown.splitlines() if line.startswith("tf-")}
    assert lines["tf-2.4-cuda11.0"].startswith("fits")
    assert lines["tf-2.5-cuda11.2"].startswith("no driver 450.51.06 is too old: it needs 450.80.02")
    assert lines["tf-2.5-cpu"].startswith("CPU only")
    document = json.loads(envbuilder("list", "tf-2.[45]*", "--fits", host, "--json").stdout)
    assert document["host"] == "k80.json (driver 450.51.06, 2 x Tesla K80)"
    assert [each["environment"] for each in document["environments"]] == list(lines)


def test_the_list_looks_at_this_host_when_no_file_is_named(envbuilder: CommandLine) -> None:
    ended = envbuilder("list", "tf-2.15-cpu", "--fits")
    assert ended.status == 0
    assert ended.stdout.startswith("Host: this host")
    assert envbuilder("list", "--fits", "tf-2.15-cpu").status == 2


def test_two_machines_are_compared_and_an_out_of_memory_is_explained(envbuilder: CommandLine) -> None:
    busy = FakeGpu(name="NVIDIA A100-SXM4-40GB", capability="8.0", total=40 * GIB, used=30 * GIB)
    a = str(envbuilder.write("a.json", host_document("535.104.05", [A100])))
    b = str(envbuilder.write("b.json", host_document("535.104.05", [busy])))
    ended = envbuilder("compare", a, b)
    assert ended.status == 0
    assert "Possible causes of an out-of-memory error on B" in ended.stdout
    document = json.loads(envbuilder("compare", a, b, "--json").stdout)
    assert [effect["on"] for effect in document["out_of_memory"]] == ["B"]
    assert "No difference explains an out-of-memory error on A" in ended.stdout
    assert "on A" not in envbuilder("compare", a, b, "--fails", "b").stdout.partition("Possible causes")[2]
    assert "No difference explains" in envbuilder("compare", a, a).stdout


def test_two_locks_are_compared_and_what_is_nothing_is_told(envbuilder: CommandLine) -> None:
    names = []
    for row in ("tf-2.15-cpu", "tf-2.16-cpu"):
        text = dump(lock(real_catalog(), Spec(environment=row), lock_ports()))
        names.append(str(envbuilder.write(f"{row}.lock", text)))
    document = json.loads(envbuilder("compare", *names, "--json").stdout)
    assert "tf.keras" in {each["topic"] for each in document["differences"]}
    machine = str(envbuilder.write("a.json", host_document("535.104.05", [A100])))
    mixed = envbuilder("compare", machine, names[0])
    assert mixed.status == 2
    assert "list --fits" in mixed.stderr


def test_a_name_that_is_nothing_is_an_error_of_usage(envbuilder: CommandLine) -> None:
    envbuilder.set("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    machine = str(envbuilder.write("a.json", host_document("535.104.05", [A100])))
    ended = envbuilder("compare", machine, "no-such-thing")
    assert ended.status == 2
    assert "no-such-thing is not a file, an environment, or an image" in ended.stderr


OLD = Host(name="this host", driver=Release("418.87.00"), gpus=(HostGpu(name="Tesla K80", capability=None),))


def test_looking_at_gpus_says_first_that_the_driver_is_too_old(
    envbuilder: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "quick_host", lambda: OLD)
    envbuilder.set("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    ended = envbuilder("validate", "tf-2.4-cuda11.0", "--tier", "gpu", "--engine", "docker")
    assert "warning: tf-2.4-cuda11.0 does not run here: driver 418.87.00 is too old" in ended.stderr
    assert "update the driver to 450.80.02 or later" in ended.stderr
    image = envbuilder("validate", "envbuilder/tf-2.4-cuda11.0:latest", "--tier", "gpu", "--engine", "docker")
    assert "driver 418.87.00 is too old" in image.stderr
    quiet = envbuilder("validate", "tf-2.4-cuda11.0", "--tier", "cpu", "--engine", "docker")
    assert "warning" not in quiet.stderr


def test_looking_at_gpus_says_first_that_there_is_no_driver_unless_the_engine_is_elsewhere(
    envbuilder: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "quick_host", lambda: None)
    monkeypatch.setattr(preflight, "is_windows_subsystem", lambda: False)
    envbuilder.set("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    arguments = ("validate", "tf-2.4-cuda11.0", "--require", "gpu", "--engine", "docker")
    assert "warning: tier gpu: no NVIDIA driver is loaded here" in envbuilder(*arguments).stderr
    envbuilder.set("DOCKER_HOST", "tcp://localhost:1")
    assert "warning" not in envbuilder(*arguments).stderr


def test_a_build_on_a_host_that_will_not_run_it_is_warned_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = settings()
    locks = [lock(real_catalog(), Spec(environment=row), lock_ports()) for row in ("tf-2.4-cuda11.0", "tf-2.15-cpu")]
    monkeypatch.setattr(preflight, "quick_host", lambda: OLD)
    preflight.warn_before_build(here, real_catalog(), locks)
    told = capsys.readouterr().err
    assert "tf-2.4-cuda11.0 will be built, but does not run here" in told
    assert "tf-2.15-cpu" not in told
    monkeypatch.setattr(preflight, "quick_host", lambda: None)
    preflight.warn_before_build(here, real_catalog(), locks)
    assert capsys.readouterr().err == ""
