"""Set-user-ID and set-group-ID programs: they lose these bits unless the spec allows them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from envbuilder.core.image_paths import merged
from envbuilder.oci.tar.members import Kind, Member

_SET_IDS = 0o6000
"""The set-user-ID and the set-group-ID bit. Source: https://man7.org/linux/man-pages/man7/inode.7.html"""


def is_privileged(member: Member) -> bool:
    """Return True for a set-user-ID or set-group-ID program.

    A directory with the set-group-ID bit is not one: the bit only sets the group of new files.
    """
    return member.kind is Kind.FILE and bool(member.mode & _SET_IDS)


def unprivileged(member: Member, allowed: AbstractSet[str]) -> Member:
    """Return a member without the set-user-ID and set-group-ID bits of a program.

    Args:
        member: Any member of a tree.
        allowed: Relative paths of programs that keep the bits. Hard links share their mode, so such a program becomes a
            file of its own.
    """
    if not is_privileged(member):
        return member
    if merged(member.path) in allowed:
        return replace(member, identity="")
    return replace(member, mode=member.mode & ~_SET_IDS)
