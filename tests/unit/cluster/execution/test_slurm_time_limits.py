"""Jobs do not ask for more time than their partition gives."""

from __future__ import annotations

import pytest

from envbuilder.cluster.execution.slurm_time_limits import PartitionLimit, job_minutes, parse_limits
from envbuilder.core.errors import UsageError

LIMITS = (
    PartitionLimit(partition="short", minutes=60, is_default=True),
    PartitionLimit(partition="day", minutes=1440, is_default=False),
    PartitionLimit(partition="endless", minutes=None, is_default=False),
)


def test_the_listing_of_sinfo_is_read() -> None:
    listing = "short*|1:00:00\nday|1-00:00:00\nendless|infinite\nodd|12-12:30:00\ntiny|0:30\nno line\n"
    assert tuple(parse_limits(listing)) == (
        *LIMITS,
        PartitionLimit(partition="odd", minutes=18030, is_default=False),
        PartitionLimit(partition="tiny", minutes=1, is_default=False),
    )


@pytest.mark.parametrize(
    ("fields", "minutes"),
    [
        ({}, 60),
        ({"partition": "short"}, 60),
        ({"partition": "day"}, 240),
        ({"partition": "endless"}, 240),
        ({"partition": "unknown"}, 240),
        ({"minutes": "60"}, 60),
        ({"partition": "day", "minutes": "1440"}, 1440),
        ({"partition": "endless", "minutes": "99999"}, 99999),
        ({"qos": "long"}, 240),
        ({"qos": "long", "minutes": "99999"}, 99999),
    ],
)
def test_the_default_is_lowered_to_the_limit_of_the_partition_and_said(fields: dict[str, str], minutes: int) -> None:
    told: list[str] = []
    assert job_minutes(fields, LIMITS, told.append) == minutes
    lowered = "minutes" not in fields and minutes != 240
    assert told == (["jobs have a time limit of 60 minutes, that of the partition short"] if lowered else [])


def test_a_longer_time_than_the_partition_allows_is_refused_with_the_longest_one() -> None:
    with pytest.raises(UsageError, match="the partition day runs jobs for at most 1440 minutes, not 1441") as refused:
        job_minutes({"partition": "day", "minutes": "1441"}, LIMITS, print)
    assert "minutes=1440" in refused.value.hint


def test_unknown_limits_change_nothing() -> None:
    assert job_minutes({}, (), print) == 240
