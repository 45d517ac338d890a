"""A command in an image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from envbuilder.core.errors import UsageError
from envbuilder.core.memory_policy import HOOK, VARIABLE, MemoryPolicy
from envbuilder.image.embedded_lock import ImageEngine, lock_inside, no_hook
from envbuilder.image.plan.layers import LABEL_MEMORY
from envbuilder.oci.runtime.command import Output, RunRequest


class FollowingEngine(ImageEngine, Protocol):
    """The part of a container engine that running a command needs."""

    def follow(self, request: RunRequest, output: Output) -> int:
        """Run a command in a new container to its end; gives its exit status."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A command that can be run.

    Attributes:
        request: What the engine is asked for.
        memory: The GPU memory policy that will hold, and where it comes from, in words; empty when nobody declared one.
    """

    request: RunRequest
    memory: str


def prepare(
    engine: FollowingEngine, request: RunRequest, memory: MemoryPolicy | None, *, gpus: bool | None
) -> Prepared:
    """Complete a request: GPUs if the engine has them, and the memory policy.

    Args:
        engine: Runs it.
        request: What was asked for.
        memory: Policy in place of the image's own; None leaves it.
        gpus: Whether it gets GPUs; None means if there are any.

    Raises:
        UsageError: There is no such image, or it has nothing that would obey a memory policy.
    """
    found = engine.image(request.image)
    if found is None:
        raise UsageError(f"there is no image {request.image} here", hint="`envbuilder build ENV` makes one; or pull it")
    wanted = replace(request, gpus=bool(request.devices) or (engine.info().gpus if gpus is None else gpus))
    given = dict(request.env)
    if memory is not None:
        if lock_inside(engine, request.image).tool(HOOK) is None:
            raise no_hook()
        given[VARIABLE] = str(memory)
        return Prepared(request=replace(wanted, env=tuple(sorted(given.items()))), memory=f"{memory} (--memory)")
    if VARIABLE in given:
        return Prepared(request=wanted, memory=f"{given[VARIABLE]} ({VARIABLE})")
    own = dict(found.labels).get(LABEL_MEMORY, "")
    return Prepared(request=wanted, memory=f"{own} (of the image)" if own else "")
