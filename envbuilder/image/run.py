"""A command in an image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from envbuilder.core.errors import UsageError
from envbuilder.core.memory_policy import HOOK, VARIABLE, MemoryPolicy
from envbuilder.image.embedded_lock import ImageEngine, lock_inside, no_hook
from envbuilder.image.plan.layers import LABEL_MEMORY
from envbuilder.oci.runtime.command import Console, RunRequest


class FollowingEngine(ImageEngine, Protocol):
    """The part of a container engine that running a command needs."""

    def follow(self, request: RunRequest, console: Console) -> int:
        """Run a command in a new container to its end; return its exit status."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A command that is ready to run.

    Attributes:
        memory: The effective GPU memory policy and its origin, in words; empty if none is declared.
    """

    request: RunRequest
    memory: str


def prepare(
    engine: FollowingEngine, request: RunRequest, memory: MemoryPolicy | None, *, gpus: bool | None
) -> Prepared:
    """Complete a request: GPUs if the engine has them, and the memory policy.

    Args:
        engine: Runs it.
        request: The original request.
        memory: Policy that replaces the image's own; None keeps it.
        gpus: True to use GPUs; None uses them if there are any.

    Raises:
        UsageError: There is no such image, or it has no hook that applies a memory policy.
    """
    found = engine.image(request.image)
    if found is None:
        raise UsageError(
            f"image not found: {request.image}",
            hint="build it with `envbuilder build ENV|LOCK`, or pull it; assembled images: `envbuilder cache list`",
        )
    wanted = replace(request, gpus=bool(request.devices) or (engine.info().gpus if gpus is None else gpus))
    given = dict(request.env)
    if memory is not None:
        if lock_inside(engine, request.image).tool(HOOK) is None:
            raise no_hook()
        given[VARIABLE] = str(memory)
        return Prepared(request=replace(wanted, env=tuple(sorted(given.items()))), memory=f"{memory} (--memory)")
    if VARIABLE in given:
        return Prepared(request=wanted, memory=f"{given[VARIABLE]} ({VARIABLE})")
    own = found.label(LABEL_MEMORY)
    return Prepared(request=wanted, memory=f"{own} (of the image)" if own else "")
