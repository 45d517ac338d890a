"""The newest Release of each suite that this machine has seen, for protection against rollback."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from envbuilder.core.errors import VerificationFailed
from envbuilder.core.files import replacing
from envbuilder.image.base.deb.distributions import DEBIAN, DebDistribution
from envbuilder.image.base.deb.release import stamp

_LAG = timedelta(days=1)
"""Maximum delay of one mirror behind another.

Source: Debian's mirrors are updated four times a day, each with its own delay ("Setting up a
Debian archive mirror", https://www.debian.org/mirror/ftpmirror).
"""
_LONGEST = 64


@dataclass(frozen=True, slots=True)
class SeenReleases:
    """Dates by suite, whatever the mirror.

    Attributes:
        folder: Directory with one file for each suite; created if necessary.
    """

    folder: Path

    def refuse_older(self, suite: str, date: datetime, distribution: DebDistribution = DEBIAN) -> None:
        """Raise VerificationFailed if a Release is more than a day older than the newest one that was seen."""
        newest = self._newest(suite)
        if newest is not None and date < newest - _LAG:
            raise VerificationFailed(
                f"the Release of {suite} is dated {stamp(date)}, older than one of {stamp(newest)} seen before: "
                f"the mirror is out of date, or withholds updates",
                hint=f"{distribution.another_mirror}; for a snapshot: {distribution.expired_option}; "
                f"if the older one is right: `rm {self._file(suite)}`",
            )

    def keep(self, suite: str, date: datetime) -> None:
        """Remember a Release if it is the newest."""
        newest = self._newest(suite)
        if newest is None or date > newest:
            self.folder.mkdir(parents=True, exist_ok=True)
            with replacing(self._file(suite)) as stream:
                stream.write(f"{date.astimezone(UTC).isoformat()}\n".encode())

    def _newest(self, suite: str) -> datetime | None:
        try:
            with self._file(suite).open("rb") as stream:
                found = datetime.fromisoformat(stream.read(_LONGEST).decode("ascii").strip())
        except (FileNotFoundError, ValueError):
            return None  # Writing is optional: the cache may be read-only.
        return found if found.tzinfo else None

    def _file(self, suite: str) -> Path:
        if Path(suite).name != suite:
            raise ValueError(f"{suite!r} is not the name of a suite")
        return self.folder / suite
