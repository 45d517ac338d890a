"""What is taken out of a fresh Debian tree: what belongs to one machine, mirror or moment, and rights of programs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from envbuilder.image.base.privileges import unprivileged
from envbuilder.oci.tar.members import Kind, Member

_DROPPED = (
    # the host
    r"etc/resolv\.conf",
    r"etc/hostname",
    r"var/lib/dbus/machine-id",
    r"dev/.*",
    # the mirror, and our options for it
    r"etc/apt/sources\.list",
    r"etc/apt/sources\.list\.d/.*",
    r"etc/apt/apt\.conf\.d/99mmdebstrap",
    r"var/lib/apt/lists/.*",
    r"var/cache/apt/.*",
    # the moment: logs, backups of databases, a cache of inode numbers
    r"var/log/(dpkg|alternatives|bootstrap)\.log",
    r"var/log/apt/.*",
    r"var/lib/dpkg/.*-old",
    r"var/cache/debconf/.*-old",
    r"etc/(passwd|group|shadow|gshadow|subuid|subgid)-",
    r"var/cache/ldconfig/.*",
    r"(tmp|var/tmp|run)/.*",
)
_EMPTIED = (r"etc/machine-id",)

_IS_DROPPED = re.compile("|".join(_DROPPED))
_IS_EMPTIED = re.compile("|".join(_EMPTIED))


def cleaned(members: Iterable[Member], *, epoch: int) -> tuple[Member, ...]:
    """The tree without what differs between two machines that bootstrap the same packages.

    Folders stay, except below `/dev`: programs expect `/var/log/apt` and `/var/cache/apt/archives/partial`.

    Args:
        members: The tree as it was made.
        epoch: Newest time stamp that is kept; later ones become this one.

    Returns:
        Shape: in the order of `members`; a hard link whose first name is dropped keeps its content.
    """
    return tuple(_cleaned(member, epoch) for member in members if not _drops(member))


def _drops(member: Member) -> bool:
    return bool(_IS_DROPPED.fullmatch(member.path)) and (
        member.kind is not Kind.FOLDER or member.path.startswith("dev/")
    )


def _cleaned(member: Member, epoch: int) -> Member:
    clamped = replace(unprivileged(member, frozenset()), mtime=min(member.mtime, epoch))
    return clamped.holding(b"") if _IS_EMPTIED.fullmatch(member.path) else clamped
