"""Time limits of Slurm partitions, so that no job asks for more time than its partition gives and waits for ever."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from envbuilder.core.errors import UsageError

MINUTES = 240
"""Default time limit of a job; the largest proofs of the catalog took 25 minutes on two processors (2026-11)."""

_TIME = re.compile(r"(?:(?P<days>\d+)-)?(?:(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d+)")
_SECONDS_TO_ANSWER = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLimit:
    """The time limit of a partition.

    Attributes:
        partition: Its name.
        minutes: Its limit; None for none.
        is_default: True if jobs get this partition unless they name another.
    """

    partition: str
    minutes: int | None
    is_default: bool


def job_minutes(fields: Mapping[str, str], limits: tuple[PartitionLimit, ...], progress: Callable[[str], None]) -> int:
    """Return the time limit of jobs: the one that was asked for, else the default as far as the partition allows it.

    A QOS may override the limit of a partition, so limits have no effect on jobs with one.

    Args:
        fields: Fields of `--on slurm:`.
        limits: Limits of the partitions; empty if they are unknown.
        progress: Progress callback; receives one line of text.

    Raises:
        UsageError: The partition does not allow the time that was asked for: its jobs would wait for ever.
    """
    asked = int(fields["minutes"]) if "minutes" in fields else None
    limit = None if "qos" in fields else _shortest(fields.get("partition", ""), limits)
    if limit is None or limit.minutes is None or limit.minutes >= (asked or MINUTES):
        return asked or MINUTES
    if asked:
        raise UsageError(
            f"--on slurm: the partition {limit.partition} runs jobs for at most {limit.minutes} minutes, not {asked}: "
            "they would wait for ever",
            hint=f"use minutes={limit.minutes}, or another partition: partition=NAME",
        )
    progress(f"jobs have a time limit of {limit.minutes} minutes, that of the partition {limit.partition}")
    return limit.minutes


def partition_limits() -> tuple[PartitionLimit, ...]:
    """Return the limits that Slurm reports; empty if it does not answer."""
    command = ["sinfo", "--noheader", "--format=%P|%l"]
    try:
        asked = subprocess.run(
            command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=_SECONDS_TO_ANSWER
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(parse_limits(asked.stdout)) if asked.returncode == 0 else ()


def parse_limits(listing: str) -> Iterator[PartitionLimit]:
    """Yield the limit of each partition in the output of sinfo; the default partition has a star behind its name.

    Source: https://slurm.schedmd.com/sinfo.html, `%P` and `%l`.
    """
    for line in listing.splitlines():
        name, bar, text = line.strip().partition("|")
        if bar:
            yield PartitionLimit(partition=name.rstrip("*"), minutes=_minutes(text), is_default=name.endswith("*"))


def _minutes(text: str) -> int | None:
    """Return the minutes of a time such as `1-12:00:00` or `30:00`; None for `infinite`."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    days, hours, minutes = (int(match[name] or 0) for name in ("days", "hours", "minutes"))
    return max((days * 24 + hours) * 60 + minutes, 1)


def _shortest(asked: str, limits: tuple[PartitionLimit, ...]) -> PartitionLimit | None:
    """Return the shortest limit of the partitions that jobs may run in; None if none of them has a limit."""
    names = [asked] if asked else [each.partition for each in limits if each.is_default]
    found = [each for each in limits if each.partition in names and each.minutes is not None]
    return min(found, key=lambda each: each.minutes or 0, default=None)
