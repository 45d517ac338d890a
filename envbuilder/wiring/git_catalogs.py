"""Catalogs in git repositories: fetched by the program git at one commit, and read without a checkout.

Nothing of a repository is executed: no hooks, filters, submodules or symbolic links. The hash of the commit covers the
content of every file, and git verifies it when it receives the objects.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from envbuilder.catalog.references import SPECS, GitReference
from envbuilder.core.errors import SourceUnreachable, ToolMissing, UsageError, VerificationFailed
from envbuilder.core.http.trust import ca_variable

_SECONDS = 300
_MOST_FILES = 20_000
_MOST_BYTES = 64 << 20
_KEPT = re.compile(r"GIT_(?:SSH|SSH_COMMAND|SSL_\w+|CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM))")
"""Variables of git that reach it; others, such as GIT_DIR in a hook, name a repository or a program of the caller."""
_OPTIONS = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "fetch.fsckObjects=true"),
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "submodule.recurse=false"),
)
_NOT_READ = "fatal: Could not read from remote repository."
_ADVICE = {"Please make sure you have the correct access rights", "and the repository exists."}
"""What git adds below every failure of SSH."""
_FILE = {"100644", "100755"}


def fetched_catalog(
    reference: GitReference, room: Path, environ: Mapping[str, str], progress: Callable[[str], None]
) -> Path:
    """Return the directory with the files of a catalog; fetch them if they are not in the cache.

    `room` is the directory of the cache for catalogs. git gets proxies, certificates and credential helpers from
    `environ`.

    Raises:
        SourceUnreachable: The repository does not deliver the commit.
        UsageError: The commit has no such directory.
        VerificationFailed: It contains links or submodules, or too much.
        ToolMissing: There is no git.
    """
    suffix = f"-{hashlib.sha256(reference.folder.encode()).hexdigest()[:12]}" if reference.folder else ""
    target = room / f"{reference.commit}{suffix}"
    if target.is_dir():
        return target
    progress(f"fetching the catalog {reference}")
    with tempfile.TemporaryDirectory(dir=room, prefix=".fetch-", ignore_cleanup_errors=True) as work:
        git = _Git(folder=Path(work) / "repository", environ=_environ(environ))
        _fetch(git, reference)
        files = Path(work) / "files"
        files.mkdir()
        for path, content in _contents(git, reference):
            place = files / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        try:
            files.rename(target)
        except OSError:
            if not target.is_dir():  # Another process has fetched it meanwhile.
                raise
    return target


@dataclass(frozen=True, slots=True, kw_only=True)
class _Git:
    """The program git in a bare repository."""

    folder: Path
    environ: Mapping[str, str]

    def run(self, *arguments: str, check: bool = True) -> bytes:
        """Return what git prints.

        Raises:
            SourceUnreachable: It fails, and `check` is set.
            ToolMissing: There is no git.
        """
        command = ["git", *_OPTIONS, "-C", str(self.folder), *arguments]
        try:
            done = subprocess.run(
                command, env=self.environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
            )
        except FileNotFoundError:
            raise ToolMissing("git is not installed", hint="install git, or name the directory of a checkout") from None
        except subprocess.TimeoutExpired:
            raise SourceUnreachable(f"git {arguments[0]} did not end within {_SECONDS} seconds") from None
        if done.returncode and check:
            raise SourceUnreachable(f"git {arguments[0]} failed: {_reason(done.stderr)}")
        return done.stdout


def _environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of git: it asks nothing, and uses no other transports than a reference can name."""
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_") or _KEPT.fullmatch(name)}
    certificates = ca_variable(environ)
    return {
        # Without BatchMode, ssh would ask on the terminal: https://man.openbsd.org/ssh_config#BatchMode
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
        **({"GIT_SSL_CAINFO": environ[certificates]} if certificates else {}),
        **kept,
        "GIT_ALLOW_PROTOCOL": "file:https:ssh",
        "GIT_HTTP_LOW_SPEED_LIMIT": "1000",
        "GIT_HTTP_LOW_SPEED_TIME": "30",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def _fetch(git: _Git, reference: GitReference) -> None:
    """Fetch one commit, or all branches and tags from a server that does not deliver single commits."""
    git.folder.mkdir()
    form = "sha256" if len(reference.commit) > len(hashlib.sha1(usedforsecurity=False).hexdigest()) else "sha1"
    git.run("init", "--quiet", "--bare", "--template=", f"--object-format={form}")
    options = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules")
    git.run(*options, "--depth=1", "--", reference.address, reference.commit, check=False)
    if _has(git, reference.commit):
        return
    try:
        git.run(*options, "--", reference.address, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
    except SourceUnreachable as error:
        raise SourceUnreachable(
            f"the catalog {reference} cannot be fetched: {error.message}",
            hint=f"check the address and your credentials: `git ls-remote {reference.address}`",
        ) from error
    if not _has(git, reference.commit):
        raise SourceUnreachable(
            f"{reference.address} has no commit {reference.commit} on a branch or a tag",
            hint=f"push it, or name another: `git ls-remote {reference.address}`",
        )


def _has(git: _Git, commit: str) -> bool:
    return git.run("cat-file", "-t", commit, check=False).strip() == b"commit"


def _contents(git: _Git, reference: GitReference) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield path and content of the files that a catalog is read from.

    Raises:
        UsageError: The commit has no such directory.
        VerificationFailed: It contains links or submodules, or too much.
    """
    tree = f"{reference.commit}:{reference.folder}"
    if git.run("cat-file", "-t", tree, check=False).strip() != b"tree":
        raise UsageError(f"the commit {reference.commit[:12]} has no directory {reference.folder}", hint=str(reference))
    size = count = 0
    for entry in git.run("ls-tree", "-r", "-z", "--long", tree).decode("utf-8", "surrogateescape").split("\0"):
        if not entry:
            continue
        about, _, name = entry.partition("\t")
        mode, _, blob, length = about.split()
        path = PurePosixPath(name)
        if not _is_read(path):
            continue
        if mode not in _FILE or not name.isprintable():
            raise VerificationFailed(f"{name!r} of the catalog {reference} is not a regular file")
        size, count = size + int(length), count + 1
        if size > _MOST_BYTES or count > _MOST_FILES:
            raise VerificationFailed(
                f"the catalog {reference} has more than {_MOST_FILES} files or {_MOST_BYTES} bytes"
            )
        yield path, git.run("cat-file", "blob", blob)


def _is_read(path: PurePosixPath) -> bool:
    return path.parts[0] == SPECS or path.suffix in {".yaml", ".yml"}


def _reason(output: bytes) -> str:
    """Return the last line of git, without its advice; with SSH, the line of ssh before it says more."""
    lines = [line for line in output.decode("utf-8", "replace").splitlines() if line.strip() and line not in _ADVICE]
    if len(lines) > 1 and lines[-1] == _NOT_READ:
        return f"{lines[-2].strip()} ({_NOT_READ.removeprefix('fatal: ').rstrip('.')})"
    return lines[-1] if lines else "no reason given"
