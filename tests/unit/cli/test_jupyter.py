"""`run --jupyter` and `--tensorboard` refuse what a server does not support, and ports in use."""

from __future__ import annotations

import socket

import pytest

from envbuilder.image.servers import LOOPBACK
from tests.unit.cli.running import CommandLine


@pytest.mark.parametrize(
    ("arguments", "problem", "hint"),
    [
        (("--jupyter", "tf-2.15-cpu", "python"), "a server has no command: python", "omit it"),
        (("--jupyter", "--tensorboard", ".", "tf-2.15-cpu"), "cannot be combined with --tensorboard", "%load_ext"),
        (("--jupyter", "--runtime", "podman", "tf-2.15-cpu"), "by --runtime podman", "--engine docker"),
        (
            ("--jupyter", "--no-network", "--engine", "docker", "tf-2.15-cpu"),
            "a server without network cannot be reached with the engine docker",
            "--engine assemble",
        ),
        (("--jupyter", "--engine", "assemble"), "envbuilder.lock not found", "name an environment"),
        (("--jupyter", "--engine", "assemble", "tf-9.9-cpu"), "tf-9.9-cpu", "did you mean"),
        (("--jupyter", "--engine", "assemble", "my-project"), "'my-project'", "--jupyter DIR/envbuilder.lock"),
        (("--tensorboard", "nowhere", "tf-2.15-cpu"), "'nowhere' does not exist", ""),
        (
            ("--jupyter", "-p", "9000", "-p", "9001:8888", "--engine", "assemble", "tf-2.15-cpu"),
            "a server has one port, not several: --publish 9000, --publish 9001:8888",
            "use -p HOST:8888 once",
        ),
        (
            ("--tensorboard", ".", "-p", "x:6006", "--engine", "assemble", "tf-2.15-cpu"),
            "--publish x:6006: 'x' is not a port",
            "-p 8888:8888",
        ),
        (
            ("--jupyter", "tf-2.15-cpu", "--engine", "assemble"),
            "--engine stands after the image, where its command is",
            "put --engine before the image",
        ),
        (
            ("tf-2.15-cpu", "--memory=growth", "python"),
            "--memory stands after the image, where its command is",
            "for the entry point of the image: `-- --memory`",
        ),
        ((), "an image and a command are required", "envbuilder run IMAGE -- python train.py"),
        (("tf-2.15-cpu",), "no command after the image", "envbuilder run IMAGE -- python train.py"),
        (("tf-2.15-cpu", "--"), "no command after the image", "envbuilder run IMAGE -- python train.py"),
    ],
)
def test_a_command_line_that_starts_nothing_is_a_usage_error(
    envbuilder: CommandLine, arguments: tuple[str, ...], problem: str, hint: str
) -> None:
    ended = envbuilder("run", *arguments)
    assert ended.status == 2
    assert problem in ended.stderr
    assert hint in ended.stderr


@pytest.mark.parametrize("form", ["{}", "{}:8888", "127.0.0.1:{}:8888"])
def test_a_port_in_use_is_refused_before_anything_is_built(envbuilder: CommandLine, form: str) -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]
        ended = envbuilder("run", "--jupyter", "--engine", "assemble", "-p", form.format(port), "tf-2.15-cpu")
    assert ended.status == 2
    assert f"port {port} of this host cannot be used at 127.0.0.1: Address already in use" in ended.stderr
    assert "omit -p for a free port" in ended.stderr
    assert not (envbuilder.folder / "cache" / "blobs").exists()
