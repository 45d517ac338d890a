"""Archives of .deb packages: their signed lists, and the addresses of their files."""

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
from envbuilder.image.base.deb.distributions import DEBIAN, DebDistribution, SuiteLocation, SuitePart, security_archive
from envbuilder.image.base.deb.packages import PackageIndex
from envbuilder.image.base.deb.release import ListedFile, SuiteRelease, parse_release, stamp
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
_MOST_STREAMS = 8
"""Maximum of streams in a list. Source: Ubuntu 18.04 has two, the second one empty; Debian has one, 2026-11-22."""
_MOST_XZ_MEMORY = 128 << 20
"""xz at its highest preset needs 65 MiB: xz(1)."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class DebArchive:
    """The archives of a distribution, in the order in which they are used.

    Attributes:
        mirrors: Their addresses without a final slash. A later one is asked for the suites and files that an earlier
            one does not have: an archive of old suites, or a snapshot.
        store: Keeps the lists.
        seen: Dates of the suites that were seen before.
        keyring: Keys whose signatures are accepted.
        allow_expired: Accept expired suites, and suites older than those seen before: for archives and snapshots.
        progress: Progress callback; receives one line of text.
        clock: The time of this machine.
        pacing: Waits between two attempts.
    """

    mirrors: tuple[str, ...]
    distribution: DebDistribution = DEBIAN
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
            SourceUnreachable: No archive answers, or none has the suite.
            ToolMissing: The signature cannot be checked here.
            VerificationFailed: A signature, a date or a list is wrong, or the suite is another one.
        """
        lists: list[tuple[bytes, str]] = []
        missing: list[str] = []
        for part in self.distribution.parts(suite):
            try:
                lists.extend(self._lists(part, components))
            except _NoRelease:
                if part.required:
                    raise
                missing.append(part.name)
                self.progress(f"the archive has no {part.name}: the image will be without the packages of {part.name}")
        return PackageIndex(lists, missing=tuple(missing), hint=self.distribution.another_mirror)

    def addresses(self, file: str) -> tuple[str, ...]:
        """Return the addresses of a pinned file, one for each archive, in order."""
        if file.startswith(SECURITY):
            return tuple(f"{security_archive(mirror)}/{file.removeprefix(SECURITY)}" for mirror in self.mirrors)
        return tuple(f"{mirror}/{file}" for mirror in self.mirrors)

    def _lists(self, part: SuitePart, components: tuple[str, ...]) -> Iterator[tuple[bytes, str]]:
        """Yield the lists of a suite from the first archive that has it, each with the prefix of its files."""
        found, place, release = self._release(part)
        for component in components:
            path = f"{component}/binary-amd64/Packages"
            if packed := release.files.get(f"{path}.xz"):
                unpacked = release.files.get(path, ListedFile(sha256="", size=_MOST_LIST))
                text = self._list(found, f"{path}.xz", packed, by_hash=release.by_hash, limit=unpacked.size)
                yield text, SECURITY if place.beside else ""

    def _release(self, part: SuitePart) -> tuple[str, SuiteLocation, SuiteRelease]:
        """Return the location of a suite in the first archive that has it, and its Release after all checks.

        Raises:
            _NoRelease: No archive has it.
        """
        failures: list[SourceUnreachable] = []
        for mirror in self.mirrors:
            for place in part.places:
                directory = f"{security_archive(mirror) if place.beside else mirror}/dists/{place.directory}"
                try:
                    return directory, place, self._checked(directory, place, part.name)
                except SourceUnreachable as error:
                    failures.append(error)
        # A server that fails may have what the others do not.
        raise next((error for error in failures if not isinstance(error, _NoRelease)), failures[0])

    def _checked(self, directory: str, place: SuiteLocation, suite: str) -> SuiteRelease:
        """Return the Release in a directory after checking its signature, its name and its date."""
        address = f"{directory}/InRelease"
        try:
            document = self._get(address, _MOST_RELEASE)
        except _NotThere as error:
            raise _NoRelease(error.message, hint=error.hint) from None
        shown, distribution = _shown(address), self.distribution
        release = parse_release(self.keyring.opened(document, shown), shown, distribution.another_mirror)
        now = self.clock()
        release.refuse_unfit(place, now=now, allow_expired=self.allow_expired, distribution=distribution)
        if not self.allow_expired:
            self.seen.refuse_older(suite, release.date, distribution)
        elif release.valid_until and release.valid_until < now:
            self.progress(f"{suite} expired at {stamp(release.valid_until)}: it lacks later security updates")
        self.seen.keep(suite, release.date)
        return release

    def _list(self, place: str, path: str, listed: ListedFile, *, by_hash: bool, limit: int) -> bytes:
        digest = f"sha256:{listed.sha256}"
        shown = _shown(f"{place}/{path}")
        if max(listed.size, limit) > _MOST_LIST:
            raise VerificationFailed(f"{shown} is too large for a package list", hint=self.distribution.another_mirror)
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
                f"{shown} cannot be unpacked: {error}", hint=self.distribution.another_mirror
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
        distribution = self.distribution
        _refuse_address(address, distribution)
        patience = Patience(self.pacing)
        while True:
            hint = _network_hint(distribution)
            try:
                return _read(self.web, address, limit, distribution)
            except _Refused as refused:
                problem = f"the server answers {refused.status}"
                hint = (_login_hint if refused.status in _NOT_ALLOWED else _network_hint)(distribution)
                again = refused.status >= _SERVER_FAULT and patience.lasts()
            except FileNotFoundError as error:
                raise _not_there(address, distribution) from error
            except OSError as error:
                problem = str(error)
                again = patience.lasts(stalled=isinstance(error, Stalled))
            if not again:
                raise SourceUnreachable(f"{_shown(address)} cannot be fetched: {problem}", hint=hint)


def _read(web: Web, address: str, limit: int, distribution: DebDistribution) -> bytes:
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
                hint=f"the mirror may be being updated: try again later, or {distribution.another_mirror}",
            ) from None


def _unpacked(packed: bytes, limit: int) -> bytes:
    """Return the content of an xz file.

    Raises:
        LZMAError: It is not an xz file, or larger than the limit.
    """
    content = b""
    for _ in range(_MOST_STREAMS):
        decompressor = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_MOST_XZ_MEMORY)
        content += decompressor.decompress(packed, max_length=limit + 1 - len(content))
        if len(content) > limit:
            raise lzma.LZMAError(f"it is larger than {limit} bytes")
        if not decompressor.eof:
            raise lzma.LZMAError("it ends early")
        packed = decompressor.unused_data
        if not packed:
            return content
    raise lzma.LZMAError(f"it has more than {_MOST_STREAMS} streams")


class _Refused(Exception):
    """An answer of the server that is not the file."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class _NotThere(SourceUnreachable):
    """An answer of the archive that a file does not exist."""


class _NoRelease(SourceUnreachable):
    """An answer of the archive that a suite does not exist."""


def _not_there(address: str, distribution: DebDistribution) -> _NotThere:
    option = distribution.mirror_option
    hint = f"the archive does not have this suite: {option}; for a suite that has moved, the archive of old suites"
    return _NotThere(f"{_shown(address)} does not exist", hint=hint)


def _login_hint(distribution: DebDistribution) -> str:
    example = f"--{distribution.kind.value}-mirror https://USER:PASSWORD@HOST/{distribution.kind.value}"
    return f"name user and password in the address ({example}), or the host in ~/.netrc"


def _network_hint(distribution: DebDistribution) -> str:
    option = distribution.mirror_option
    return f"check network, proxy and CA bundle (SSL_CERT_FILE), or name another archive: {option}"


def _refuse_address(address: str, distribution: DebDistribution) -> None:
    try:
        parts = urlsplit(address)
        named = parts.scheme == "file" or bool(parts.hostname and (parts.port is None or parts.port))
        named = named and parts.scheme in _SCHEMES
    except ValueError:
        named = False
    if not named or not address.isprintable() or " " in address:
        raise SourceUnreachable(
            f"{_shown(address)!r} is not the address of a package archive",
            hint=f"name one: {distribution.mirror_option}",
        )


def _shown(address: str) -> str:
    """Return an address without user and password."""
    return _LOGIN.sub("", address, count=1)
