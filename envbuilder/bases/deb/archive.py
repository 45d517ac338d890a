"""A Debian archive: its signed lists, and where its files are."""

from __future__ import annotations

import hashlib
import lzma
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from envbuilder.bases.deb.index import PackageIndex
from envbuilder.errors import SourceUnreachable, VerificationFailed
from envbuilder.files import CHUNK
from envbuilder.http.web import Web
from envbuilder.store import Store

SECURITY = "security:"
"""In front of the path of a file that lies in the archive of security updates, beside the main one."""

_TRIES = 3
_TIMEOUT = 30.0
_OK, _NOT_FOUND, _SERVER_FAULT = 200, 404, 500
_SCHEMES = ("https", "http", "file")
_LISTED = re.compile(r"^ ([0-9a-f]{64})\s+(\d+)\s+(\S+)$")
_KEYRINGS = "/usr/share/keyrings"


@dataclass(frozen=True, slots=True, kw_only=True)
class DebianArchive:
    """An archive at an address.

    Attributes:
        mirror: Its address without a final slash; security updates are looked for at `<mirror>-security`.
        store: Keeps the lists.
        web: Sends the requests.
        keyrings: Folder of Debian's keys.
        notice: Told in one sentence what could not be checked.
        pause: Waits between two tries, in seconds.
    """

    mirror: str
    store: Store
    web: Web
    keyrings: Path = Path(_KEYRINGS)
    notice: Callable[[str], None] = lambda _text: None
    pause: Callable[[float], None] = time.sleep

    def index(self, suite: str, components: tuple[str, ...]) -> PackageIndex:
        """The packages of a suite for x86-64, with its updates and security updates where there are any.

        Raises:
            SourceUnreachable: The archive does not answer, or does not have the suite.
            VerificationFailed: A signature or a list is wrong.
        """
        sources = (
            (self.mirror, suite, "", True),
            (self.mirror, f"{suite}-updates", "", False),
            (f"{self.mirror}-security", f"{suite}-security", SECURITY, False),
        )
        return PackageIndex(
            (text, prefix)
            for root, name, prefix, required in sources
            for text in self._lists(root, name, components, required=required)
        )

    def address(self, file: str) -> str:
        """Where a pinned file is."""
        if file.startswith(SECURITY):
            return f"{self.mirror}-security/{file.removeprefix(SECURITY)}"
        return f"{self.mirror}/{file}"

    def _lists(self, root: str, suite: str, components: tuple[str, ...], *, required: bool) -> Iterator[bytes]:
        try:
            release = self._get(f"{root}/dists/{suite}/InRelease")
        except _NotThere:
            if required:
                raise
            return
        listed = _listed(self._signed(release, suite))
        for component in components:
            path = f"{component}/binary-amd64/Packages.xz"
            if path in listed:
                yield self._list(f"{root}/dists/{suite}/{path}", listed[path])

    def _list(self, address: str, sha256: str) -> bytes:
        digest = f"sha256:{sha256}"
        if not self.store.has(digest):
            content = self._get(address)
            if hashlib.sha256(content).hexdigest() != sha256:
                raise VerificationFailed(
                    f"{_shown(address)} is not what its suite says", hint="the mirror is being updated; try again"
                )
            self.store.put(content)
        try:
            return lzma.decompress(self.store.read(digest))
        except lzma.LZMAError as error:
            raise VerificationFailed(f"{_shown(address)} cannot be unpacked: {error}") from error

    def _signed(self, release: bytes, suite: str) -> str:
        """The text that is signed.

        Raises:
            VerificationFailed: None of Debian's keys made the signature.
        """
        keyrings = sorted(self.keyrings.glob("debian-archive-*.gpg"))
        if not keyrings:
            self.notice(f"the signature of {suite} is not checked: no keys in {self.keyrings}")
            return release.decode("utf-8", "replace")
        command = ["gpgv", "--output", "-", *(option for each in keyrings for option in ("--keyring", str(each))), "-"]
        try:
            done = subprocess.run(
                command, input=release, capture_output=True, timeout=_TIMEOUT, check=False, env={"LC_ALL": "C"}
            )
        except (OSError, subprocess.TimeoutExpired):
            self.notice(f"the signature of {suite} is not checked: gpgv cannot be run")
            return release.decode("utf-8", "replace")
        if done.returncode or not done.stdout or b"Good signature" not in done.stderr:
            raise VerificationFailed(
                f"the list of {suite} is not signed by Debian",
                hint="another mirror (--debian-mirror URL), or newer keys: the package debian-archive-keyring",
            )
        return done.stdout.decode("utf-8", "replace")

    def _get(self, address: str) -> bytes:
        if urlsplit(address).scheme not in _SCHEMES:
            raise SourceUnreachable(
                f"{_shown(address)} is no address of a Debian archive", hint="name one: --debian-mirror URL"
            )
        problem = ""
        for attempt in range(1, _TRIES + 1):
            try:
                return _read(self.web, address)
            except _Refused as refused:
                problem = f"the server answers {refused.status}"
                if refused.status < _SERVER_FAULT:
                    break
            except FileNotFoundError as error:
                raise _not_there(address) from error
            except OSError as error:
                problem = str(error)
            if attempt < _TRIES:
                self.pause(float(attempt))
        raise SourceUnreachable(
            f"{_shown(address)} cannot be fetched: {problem}",
            hint="check network, proxy and CA bundle (SSL_CERT_FILE), or name another archive: --debian-mirror URL",
        )


def _read(web: Web, address: str) -> bytes:
    """Return what is at an address whose scheme was checked.

    Raises:
        FileNotFoundError: The server answers that it is not there.
    """
    with web.asked(address, {}) as answer:
        if answer.status == _NOT_FOUND:
            raise FileNotFoundError(address)
        if answer.status != _OK:
            raise _Refused(answer.status)
        return b"".join(iter(lambda: answer.read(CHUNK), b""))


class _Refused(Exception):
    """A server that answers, but not with the file."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class _NotThere(SourceUnreachable):
    """The archive answers, and does not have it."""


def _not_there(address: str) -> _NotThere:
    return _NotThere(
        f"{_shown(address)} is not there", hint="the archive does not have this suite: --debian-mirror URL"
    )


def _listed(release: str) -> dict[str, str]:
    """sha256 by path, from the section SHA256."""
    _, _, section = release.partition("\nSHA256:\n")
    found = {}
    for line in section.splitlines():
        match = _LISTED.match(line)
        if not match:
            break
        found[match[3]] = match[1]
    return found


def _shown(address: str) -> str:
    """An address without credentials."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.hostname or "").geturl()
