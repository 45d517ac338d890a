"""Command lines as `docker run` has them: what `run` and `shell` need instead."""

from __future__ import annotations

import re

import click

from envbuilder.core.errors import UsageError

_GPUS = "write --gpus without a value; for single GPUs: --device nvidia.com/gpu=0"
_DETACHED = "omit it: the command runs in the foreground; `envbuilder run … &` returns at once"
_NETWORK = "omit it, or use --no-network; ports of the command: -p HOST:CONTAINER"
_INSTEAD = {
    "--detach": _DETACHED,
    "-d": _DETACHED,
    "--entrypoint": "write the program after the image: `envbuilder run IMAGE PROGRAM`",
    "--gpus": _GPUS,
    "--name": "omit it: containers have no names; --keep NAME keeps the changes of a run",
    "--net": _NETWORK,
    "--network": _NETWORK,
    "--rm": "omit it: the container is always removed; --keep NAME keeps the changes of a run",
    "--volume": "mount a directory with --mount DIR:PATH",
}
"""Options of `docker run`, in the order of their names.

Source: https://docs.docker.com/reference/cli/docker/container/run/ (read 2026-11-26).
"""
_GPU_VALUE = re.compile(r"all|\d+|\"?device=.*")
_VOLUME = re.compile(r"[/.~].*:/.*")


class ContainerCommand(click.Command):
    """A command whose errors name the option for what somebody wrote as for `docker run`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line.

        Raises:
            UsageError: It has an option of `docker run` that is another one here, or the value of one as its image.
        """
        try:
            rest = super().parse_args(ctx, args)
        except (click.NoSuchOption, click.BadOptionUsage) as error:
            hint = _INSTEAD.get(error.option_name)
            if hint is None:
                raise
            raise UsageError(error.message, hint=hint) from None
        except click.UsageError:
            # With its value as the image, the image is an argument too many for `shell`.
            _refuse_value(ctx.params)
            raise
        _refuse_value(ctx.params)
        return rest


def _refuse_value(parameters: dict[str, object]) -> None:
    image = parameters.get("image")
    if not isinstance(image, str):
        return
    if parameters.get("gpus") and _GPU_VALUE.fullmatch(image):
        raise UsageError(f"--gpus has no value, so {image} is taken as the image", hint=_GPUS)
    if _VOLUME.fullmatch(image):
        raise UsageError(f"-v means --verbose, so {image} is taken as the image", hint=_INSTEAD["--volume"])
