"""The `Release` file of a suite: its names, its date and its lists.

Source: https://wiki.debian.org/DebianRepository/Format, sections Release and By-Hash; the files of bullseye, bookworm,
trixie, bionic and focal, read 2026-11-22.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.base.deb.distributions import DEBIAN, DebDistribution, SuiteLocation

_FIELD = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*):(?: ?(.*))?")
_ENTRY = re.compile(r" ([0-9a-f]{64}) +([0-9]{1,12}) +(\S{1,1024})")
_DATE = re.compile(
    r"[A-Z][a-z]{2}, [0-9]{1,2} [A-Z][a-z]{2} [1-9][0-9]{3} [0-9]{2}:[0-9]{2}:[0-9]{2} (?:UTC|GMT|Z|[+-]0000)"
)
_AHEAD = timedelta(hours=1)
"""Maximum delay of the machine's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFile:
    """A file that belongs to a suite.

    Attributes:
        sha256: 64 hexadecimal digits.
        size: Bytes.
    """

    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRelease:
    """A suite at one time.

    Attributes:
        names: Its suite and codename, such as `oldstable` and `bookworm`.
        label: Such as `Debian-Security`; empty if it has none.
        date: Time of its creation.
        valid_until: End of its validity; None for a suite that does not change any more.
        by_hash: Whether its lists are also found by their hashes.
        files: Its lists by their path below the suite.
    """

    names: frozenset[str]
    label: str = ""
    date: datetime
    valid_until: datetime | None
    by_hash: bool
    files: dict[str, ListedFile]

    def refuse_unfit(
        self, asked: SuiteLocation, *, now: datetime, allow_expired: bool, distribution: DebDistribution = DEBIAN
    ) -> None:
        """Raise VerificationFailed unless this is the requested suite and valid now.

        Args:
            asked: The suite.
            now: The time of this machine.
            allow_expired: Accept it after its end; for archives and snapshots, which keep the old signed files.
            distribution: Names the options in hints.

        Raises:
            VerificationFailed: It is another suite, its time is over, or it is from the future.
        """
        another = distribution.another_mirror
        if asked.codename not in self.names or (asked.label and asked.label != self.label):
            wanted = f"{asked.codename}{f' ({asked.label})' if asked.label else ''}"
            raise VerificationFailed(
                f"the archive returned {' or '.join(sorted(self.names)) or 'a suite without a name'} "
                f"instead of {wanted}",
                hint=another,
            )
        if self.date > now + _AHEAD:
            raise VerificationFailed(
                f"the Release of {asked.directory} is dated {stamp(self.date)}, but the clock here shows {stamp(now)}",
                hint="set the clock of this machine, then run the command again",
            )
        if self.valid_until is not None and self.valid_until < now and not allow_expired:
            raise VerificationFailed(
                f"the Release of {asked.directory} expired at {stamp(self.valid_until)}; "
                f"the clock here shows {stamp(now)}",
                hint=f"check the clock; {another}; for an archived suite or a snapshot: {distribution.expired_option}",
            )


def parse_release(text: str, name: str, hint: str = DEBIAN.another_mirror) -> SuiteRelease:
    """Parse a Release file.

    Args:
        text: Its signed text.
        name: Name of the file, for messages.
        hint: What to do if it is none.

    Raises:
        VerificationFailed: It is not a Release file.
    """
    fields, sections = _fields(text, name, hint)
    if "Date" not in fields:
        raise VerificationFailed(f"{name} has no field Date", hint=hint)
    return SuiteRelease(
        names=frozenset(filter(None, (fields.get("Suite", ""), fields.get("Codename", "")))),
        label=fields.get("Label", ""),
        date=_time(fields["Date"], "Date", name, hint),
        valid_until=_time(fields["Valid-Until"], "Valid-Until", name, hint) if "Valid-Until" in fields else None,
        by_hash=fields.get("Acquire-By-Hash", "").lower() == "yes",
        files=_files(sections.get("SHA256", []), name, hint),
    )


def stamp(time: datetime) -> str:
    """Return a time as in `2026-11-21 00:53 UTC`."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _fields(text: str, name: str, hint: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the values of the fields, and the lines below each."""
    fields: dict[str, str] = {}
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.split("\n"):
        if line.startswith(" "):
            current.append(line)
            continue
        match = _FIELD.fullmatch(line)
        if match is None or match[1] in fields:
            what = "is there twice" if match else "is no field"
            raise VerificationFailed(f"{name} is not a Release file: {line[:80]!r} {what}", hint=hint)
        fields[match[1]] = (match[2] or "").strip()
        current = sections.setdefault(match[1], [])
    return fields, sections


def _files(lines: list[str], name: str, hint: str) -> dict[str, ListedFile]:
    found = {}
    for line in lines:
        match = _ENTRY.fullmatch(line)
        if match is None:
            raise VerificationFailed(
                f"{name} has an entry that is not a file with its sha256: {line[:120]!r}", hint=hint
            )
        found[match[3]] = ListedFile(sha256=match[1], size=int(match[2]))
    return found


def _time(text: str, field: str, name: str, hint: str) -> datetime:
    if _DATE.fullmatch(text):
        with suppress(ValueError):
            return parsedate_to_datetime(text).replace(tzinfo=UTC)
    raise VerificationFailed(f"{name}: {field} is not a date: {text[:80]!r}", hint=hint)
