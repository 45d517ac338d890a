"""Settings of an image's configuration for running a command in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.errors import UsageError
from envbuilder.core.json_fields import parsed, record, text, texts
from envbuilder.oci.runtime.outputs import read_inside

_LARGEST_ID = (1 << 31) - 2
"""Numbers above are negative in a part of the kernel's interfaces, and 2^32 - 1 means "no change" to setuid(2)."""

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_LARGEST_FILE = 4 << 20
"""Maximum size of a list of users, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """Defaults of an image.

    Attributes:
        env: Variables, sorted by name; PATH is always there.
        user: Name or number of a user, with a group after a colon; empty for root.
        labels: Sorted by name.
        command: Entry point and arguments.
    """

    env: tuple[tuple[str, str], ...]
    folder: str
    user: str
    labels: tuple[tuple[str, str], ...]
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The user of a command.

    Attributes:
        home: Empty if the image does not know the user.
    """

    uid: int
    gid: int
    home: str


def settings_of(config: bytes) -> ProcessSettings:
    """Read the configuration of an image; missing or malformed values are ignored."""
    settings = record(parsed(config), "config")
    pairs = (entry.partition("=") for entry in _without_nul(texts(settings, "Env")))
    env = {"PATH": _PATH} | {name: value for name, _, value in pairs if name}
    labels = record(settings, "Labels")
    folder = text(settings, "WorkingDir")
    return ProcessSettings(
        env=tuple(sorted(env.items())),
        folder=folder if folder.startswith("/") and "\0" not in folder else "/",
        user=text(settings, "User"),
        labels=tuple(sorted((name, value) for name, value in labels.items() if isinstance(value, str))),
        command=_without_nul((*texts(settings, "Entrypoint"), *texts(settings, "Cmd"))),
    )


def account(tree: Path, user: str) -> Account:
    """Return the user for `user[:group]` in a tree.

    Raises:
        UsageError: The tree has no user or group of this name, or the number is out of range.
    """
    name, colon, group = user.partition(":")
    known = {line[0]: line for line in _lines(tree, "etc/passwd", 6)}
    by_number = {line[2]: line for line in reversed(list(known.values()))}
    line = known.get(name) or by_number.get(name or "0")
    if line is None and not _is_number(name or "0"):
        raise UsageError(f"the image has no user {name!r}", hint="use a numeric uid: --user UID")
    uid = int(line[2] if line else name or "0")
    gid = _group(tree, group) if colon else int(line[3]) if line else 0
    if max(uid, gid) > _LARGEST_ID:
        raise UsageError(
            f"the user {user!r} of the image has the id {max(uid, gid)}, above {_LARGEST_ID}",
            hint="use another user: --user UID",
        )
    return Account(uid=uid, gid=gid, home=line[5] if line else "")


def _group(tree: Path, group: str) -> int:
    known = {line[0]: line[2] for line in _lines(tree, "etc/group", 3)}
    number = known.get(group, group)
    if not _is_number(number):
        raise UsageError(f"the image has no group {group!r}", hint="use a numeric gid: --user UID:GID")
    return int(number)


def _lines(tree: Path, path: str, fields: int) -> list[list[str]]:
    content = (read_inside(tree, path, limit=_LARGEST_FILE) or b"").decode("utf-8", "replace")
    lines = (line.split(":") for line in content.splitlines())
    numbers = slice(2, min(fields, 4))
    return [line for line in lines if len(line) >= fields and all(map(_is_number, line[numbers]))]


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 11


def _without_nul(words: tuple[str, ...]) -> tuple[str, ...]:
    # The kernel ends a text at its first NUL, so a path with more behind it is rejected.
    return tuple(word for word in words if "\0" not in word)
