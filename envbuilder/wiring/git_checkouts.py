"""Checkouts of projects: made from the address of a git repository, and the day of their last change."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from envbuilder.core.errors import SourceUnreachable, ToolMissing, UsageError
from envbuilder.core.http.trust import ca_variable

_ADDRESS = re.compile(r"(?:https?|ssh|git|file)://.+|[A-Za-z0-9_.-]+@[A-Za-z0-9_.-]+:[^:].*")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]*@")
_OF_THE_CALLER = re.compile(
    r"GIT_(?:DIR|WORK_TREE|INDEX_FILE|PREFIX|OBJECT_DIRECTORY|COMMON_DIR|NAMESPACE|ALTERNATE_OBJECT_DIRECTORIES)"
)
"""Variables of a hook that name another repository."""
_SECONDS = 20
_LOG = (
    *("git", "--no-pager"),
    # A repository may name programs in its configuration that these would start.
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false"),
)


def is_address(text: str) -> bool:
    """Return True if a text is the address of a git repository, and not a path.

    Example:
        >>> is_address("https://git.example/a.git"), is_address("git@git.example:a/b"), is_address("../a")
        (True, True, False)
    """
    return bool(_ADDRESS.fullmatch(text))


def folder_of(address: str) -> Path:
    """Return the directory that `git clone` would use.

    Raises:
        UsageError: The address does not end with a name.

    Example:
        >>> str(folder_of("git@git.example:team/model.git")), str(folder_of("https://git.example/model/"))
        ('model', 'model')
    """
    path = address.partition("://")[2].partition("/")[2] or address.rpartition(":")[2]
    name = path.rstrip("/").removesuffix("/.git").rpartition("/")[2].removesuffix(".git")
    if name in {"", ".", ".."} or name.startswith("-"):
        raise UsageError(f"{_shown(address)} does not name a directory", hint="name one: --into DIR")
    return Path(name)


def clone(address: str, folder: Path, environ: Mapping[str, str]) -> None:
    """Clone a repository into a new directory; git removes an incomplete one, and asks on the terminal for a password.

    The directory must be new or empty. git gets proxies, certificates and credential helpers from `environ`.

    Raises:
        UsageError: The directory has files.
        ToolMissing: There is no git.
        SourceUnreachable: git cannot clone it.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise UsageError(
            f"{folder} already exists", hint=f"`envbuilder adopt {folder}` for what it has; another one: --into DIR"
        )
    try:
        done = subprocess.run(
            ["git", "clone", "--quiet", "--", address, str(folder)],
            env=_environ(environ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError as error:
        raise ToolMissing("git is not installed", hint="apt-get install git, or name a directory") from error
    if done.returncode:
        message = _shown(done.stderr.strip()) or f"exit status {done.returncode}"
        raise SourceUnreachable(
            f"git cannot clone {_shown(address)}: {message}",
            hint="check the address, the network, your access, and by `git fsck` the repository itself",
        )


def last_change(folder: Path) -> date | None:
    """Return the day of the last commit of a checkout; None for a directory that is none, or without git."""
    command = [*_LOG, "-C", str(folder), "log", "-1", "--format=%cs", "--", "."]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        return date.fromisoformat(done.stdout.strip())
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def _shown(text: str) -> str:
    """Return a text without the credentials of addresses and the control characters in it."""
    plain = "\n".join("".join(filter(str.isprintable, line)).rstrip() for line in text.splitlines())
    return _CREDENTIALS.sub("", plain)


def _environ(environ: Mapping[str, str]) -> dict[str, str]:
    own = {name: value for name, value in environ.items() if not _OF_THE_CALLER.fullmatch(name)}
    certificates = ca_variable(environ)
    return {
        **({"GIT_SSL_CAINFO": environ[certificates]} if certificates else {}),
        **own,
        # Others, such as ext, start programs.
        "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
        "LC_ALL": "C",
    }
