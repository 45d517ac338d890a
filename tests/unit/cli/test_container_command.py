"""Who types a command line of `docker run` is told what to write instead."""

from __future__ import annotations

import pytest

from tests.unit.cli.running import CommandLine


@pytest.mark.parametrize(
    ("typed", "problem", "hint"),
    [
        (("--rm",), "No such option '--rm'", "the container is always removed"),
        (("-d",), "No such option '-d'", "runs in the foreground"),
        (("--volume", "/data:/data"), "No such option '--volume'", "--mount DIR:PATH"),
        (("-v", "/data:/data"), "-v means --verbose, so /data:/data is taken as the image", "--mount DIR:PATH"),
        (("-v", "./data:/data"), "so ./data:/data is taken as the image", "--mount DIR:PATH"),
        (("--gpus", "all"), "--gpus has no value, so all is taken as the image", "--gpus without a value"),
        (("--gpus", '"device=0,1"'), "--gpus has no value", "--device nvidia.com/gpu=0"),
        (("--gpus=all",), "'--gpus' does not take a value", "--gpus without a value"),
        (("--network", "host"), "No such option '--network'", "--no-network"),
    ],
)
@pytest.mark.parametrize("command", ["run", "shell"])
def test_an_option_of_docker_run_has_a_hint(
    envbuilder: CommandLine, command: str, typed: tuple[str, ...], problem: str, hint: str
) -> None:
    ended = envbuilder(command, *typed, "tf-2.15-cpu", *(("true",) if command == "run" else ()))
    assert ended.status == 2
    assert problem in ended.stderr
    assert hint in ended.stderr


@pytest.mark.parametrize("typed", [("--nowhere",), ("--memory=",)])
def test_other_faults_are_those_of_every_command(envbuilder: CommandLine, typed: tuple[str, ...]) -> None:
    ended = envbuilder("run", *typed, "tf-2.15-cpu", "true")
    assert ended.status == 2
    assert "docker" not in ended.stderr


def test_an_image_of_a_registry_with_a_port_is_no_volume(envbuilder: CommandLine) -> None:
    assert "--verbose" not in envbuilder("run", "--engine", "assemble", "host:5000/team/tf:1", "true").stderr
