"""A Debian archive: its signed lists, and the addresses of its files."""

from __future__ import annotations

import hashlib
import lzma
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlsplit

from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.core.http.limits import Stalled, TooLong, whole
from envbuilder.core.http.retries import PACING, Pacing, Patience
from envbuilder.core.http.web import Web
from envbuilder.image.base.deb.packages import PackageIndex
from envbuilder.image.base.deb.release import ListedFile, Release, parse_release, stamp
from envbuilder.image.base.deb.rollback import SeenReleases
from envbuilder.image.base.deb.signatures import Keyring
from envbuilder.oci.store import Store

SECURITY = "security:"
"""Prefix of the path of a file in the archive of security updates, which is beside the main one."""

_OK, _NOT_FOUND, _SERVER_FAULT = 200, 404, 500
_NOT_ALLOWED = frozenset({401, 403, 407})
_SCHEMES = ("https", "http", "file")
_LOGIN = re.compile(r"(?<=//).*@")
_MOST_RELEASE = 4 << 20
_MOST_LIST = 256 << 20
"""Maximum size of a list. Source: sid has the longest, 0.2 MB and 60 MB; bookworm 151 kB and 50 MB, 2026-11."""
_MOST_XZ_MEMORY = 128 << 20
"""xz at its highest preset needs 65 MiB: xz(1)."""
_LOGIN_HINT = (
    "name user and password in the address (--debian-mirror https://USER:PASSWORD@HOST/debian), or the host in ~/.netrc"
)
_NETWORK_HINT = "check network, proxy and CA bundle (SSL_CERT_FILE), or name another archive: --debian-mirror URL"


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class DebianArchive:
    """An archive at an address.

    Attributes:
        mirror: Its address without a final slash; security updates are expected at `<mirror>-security`.
        store: Keeps the lists.
        web: Sends the requests.
        seen: Dates of the suites that were seen before.
        keyring: Keys whose signatures are accepted.
        allow_expired: Accept expired suites, and suites older than those seen before: for archives and snapshots.
        progress: Progress callback; receives one line of text.
        clock: The time of this machine.
        pacing: Waits between two attempts.
    """

    mirror: str
    store: Store
    web: Web
    seen: SeenReleases
    keyring: Keyring = field(default_factory=Keyring)
    allow_expired: bool = False
    progress: Callable[[str], None] = lambda _text: None
    clock: Callable[[], datetime] = _now
    pacing: Pacing = PACING

    def index(self, suite: str, components: tuple[str, ...]) -> PackageIndex:
        """Return the packages of a suite for x86-64, with its updates and security updates.

        Returns:
            The index. Updates that the archive does not have are named in its `missing`, and to `progress`.

        Raises:
            SourceUnreachable: The archive does not answer, or does not have the suite.
            ToolMissing: The signature cannot be checked here.
            VerificationFailed: A signature, a date or a list is wrong, or the suite is another one.
        """
        lists: list[tuple[bytes, str]] = []
        missing: list[str] = []
        lists.extend((text, "") for text in self._lists(self.mirror, suite, components))
        for root, name, prefix in (
            (self.mirror, f"{suite}-updates", ""),
            (f"{self.mirror}-security", f"{suite}-security", SECURITY),
        ):
            try:
                lists.extend((text, prefix) for text in self._lists(root, name, components))
            except _NoRelease:
                missing.append(name)
                self.progress(f"the archive has no {name}: the image will be without the packages of {name}")
        return PackageIndex(lists, missing=tuple(missing))

    def address(self, file: str) -> str:
        """Return the address of a pinned file."""
        if file.startswith(SECURITY):
            return f"{self.mirror}-security/{file.removeprefix(SECURITY)}"
        return f"{self.mirror}/{file}"

    def _lists(self, root: str, suite: str, components: tuple[str, ...]) -> Iterator[bytes]:
        place = f"{root}/dists/{suite}"
        release = self._release(place, suite)
        for component in components:
            path = f"{component}/binary-amd64/Packages"
            if packed := release.files.get(f"{path}.xz"):
                unpacked = release.files.get(path, ListedFile(sha256="", size=_MOST_LIST))
                yield self._list(place, f"{path}.xz", packed, by_hash=release.by_hash, limit=unpacked.size)

    def _release(self, place: str, suite: str) -> Release:
        """Return the Release of a suite after checking its signature, its name and its date."""
        address = f"{place}/InRelease"
        try:
            document = self._get(address, _MOST_RELEASE)
        except _NotThere as error:
            raise _NoRelease(error.message, hint=error.hint) from None
        shown = _shown(address)
        release = parse_release(self.keyring.opened(document, shown), shown)
        release.refuse_unfit(suite, now=self.clock(), allow_expired=self.allow_expired)
        if not self.allow_expired:
            self.seen.refuse_older(suite, release.date)
        elif release.valid_until and release.valid_until < self.clock():
            self.progress(f"{suite} expired at {stamp(release.valid_until)}: it lacks later security updates")
        self.seen.keep(suite, release.date)
        return release

    def _list(self, place: str, path: str, listed: ListedFile, *, by_hash: bool, limit: int) -> bytes:
        digest = f"sha256:{listed.sha256}"
        shown = _shown(f"{place}/{path}")
        if max(listed.size, limit) > _MOST_LIST:
            raise VerificationFailed(
                f"{shown} is too large for a package list", hint="use another mirror: --debian-mirror URL"
            )
        if not self.store.has(digest):
            content = self._packed(place, path, listed, by_hash=by_hash)
            if hashlib.sha256(content).hexdigest() != listed.sha256:
                raise VerificationFailed(
                    f"{shown} does not match the digest in its Release file",
                    hint="the mirror may be being updated: try again later",
                )
            self.store.put(content)
        try:
            return _unpacked(self.store.read(digest), limit)
        except lzma.LZMAError as error:
            raise VerificationFailed(
                f"{shown} cannot be unpacked: {error}", hint="use another mirror: --debian-mirror URL"
            ) from None

    def _packed(self, place: str, path: str, listed: ListedFile, *, by_hash: bool) -> bytes:
        """Return a list as the archive sends it, by its hash where possible: mirrors update named files first."""
        if by_hash:
            try:
                return self._get(f"{place}/{path.rpartition('/')[0]}/by-hash/SHA256/{listed.sha256}", listed.size)
            except _NotThere:
                pass
        return self._get(f"{place}/{path}", listed.size)

    def _get(self, address: str, limit: int) -> bytes:
        _refuse_address(address)
        patience = Patience(self.pacing)
        while True:
            hint = _NETWORK_HINT
            try:
                return _read(self.web, address, limit)
            except _Refused as refused:
                problem = f"the server answers {refused.status}"
                hint = _LOGIN_HINT if refused.status in _NOT_ALLOWED else _NETWORK_HINT
                again = refused.status >= _SERVER_FAULT and patience.lasts()
            except FileNotFoundError as error:
                raise _not_there(address) from error
            except OSError as error:
                problem = str(error)
                again = patience.lasts(stalled=isinstance(error, Stalled))
            if not again:
                raise SourceUnreachable(f"{_shown(address)} cannot be fetched: {problem}", hint=hint)


def _read(web: Web, address: str, limit: int) -> bytes:
    """Return the content at an address whose scheme was checked.

    Raises:
        FileNotFoundError: The server answers that the file does not exist.
        VerificationFailed: It is longer than the limit.
    """
    with web.asked(address, {}) as answer:
        if answer.status == _NOT_FOUND:
            raise FileNotFoundError(address)
        if answer.status != _OK:
            raise _Refused(answer.status)
        try:
            return whole(answer, limit)
        except TooLong:
            raise VerificationFailed(
                f"{_shown(address)} is larger than the limit of {limit} bytes",
                hint="the mirror may be being updated: try again later, or use another one: --debian-mirror URL",
            ) from None


def _unpacked(packed: bytes, limit: int) -> bytes:
    """Return the content of an xz file.

    Raises:
        LZMAError: It is not an xz file, or larger than the limit.
    """
    decompressor = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_MOST_XZ_MEMORY)
    content = decompressor.decompress(packed, max_length=limit + 1)
    if len(content) > limit:
        raise lzma.LZMAError(f"it is larger than {limit} bytes")
    if not decompressor.eof or decompressor.unused_data:
        raise lzma.LZMAError("it is not one complete stream")
    return content


class _Refused(Exception):
    """An answer of the server that is not the file."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class _NotThere(SourceUnreachable):
    """An answer of the archive that a file does not exist."""


class _NoRelease(SourceUnreachable):
    """An answer of the archive that a suite does not exist."""


def _not_there(address: str) -> _NotThere:
    return _NotThere(
        f"{_shown(address)} is not there", hint="the archive does not have this suite: --debian-mirror URL"
    )


def _refuse_address(address: str) -> None:
    try:
        parts = urlsplit(address)
        named = parts.scheme == "file" or bool(parts.hostname and (parts.port is None or parts.port))
        named = named and parts.scheme in _SCHEMES
    except ValueError:
        named = False
    if not named or not address.isprintable() or " " in address:
        raise SourceUnreachable(
            f"{_shown(address)!r} is no address of a Debian archive", hint="name one: --debian-mirror URL"
        )


def _shown(address: str) -> str:
    """Return an address without user and password."""
    return _LOGIN.sub("", address, count=1)
