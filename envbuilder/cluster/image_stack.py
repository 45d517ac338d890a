"""The requirements of the image of a lock, as the judge of compatibility takes them."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.catalog.environments import BaseKind, Environment
from envbuilder.catalog.verdicts import Stack, stack_of
from envbuilder.lock.lock import Lock


def image_stack(row: Environment, lock: Lock) -> Stack:
    """Return the requirements of the image of a lock for a machine."""
    stack = replace(stack_of(row, None), base=lock.base.id, has_compat_library=lock.base.kind is BaseKind.IMAGE)
    return replace(stack, cuda=lock.cuda.cuda, cudnn=lock.cuda.cudnn) if lock.cuda else stack
