"""`run --jupyter` and `--tensorboard` refuse what a server does not support."""

from __future__ import annotations

import pytest

from tests.unit.cli.running import CommandLine


@pytest.mark.parametrize(
    ("arguments", "problem", "hint"),
    [
        (("--jupyter", "tf-2.15-cpu", "python"), "a server has no command: python", "omit it"),
        (("--jupyter", "--tensorboard", ".", "tf-2.15-cpu"), "cannot be combined with --tensorboard", "%load_ext"),
        (("--jupyter", "--runtime", "podman", "tf-2.15-cpu"), "by --runtime podman", "--engine docker"),
        (("--jupyter", "--engine", "assemble"), "envbuilder.lock not found", "name an environment"),
        (("--jupyter", "--engine", "assemble", "tf-9.9-cpu"), "tf-9.9-cpu", "did you mean"),
        (("--jupyter", "--engine", "assemble", "my-project"), "'my-project'", "--jupyter DIR/envbuilder.lock"),
        (("--tensorboard", "nowhere", "tf-2.15-cpu"), "'nowhere' does not exist", ""),
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
