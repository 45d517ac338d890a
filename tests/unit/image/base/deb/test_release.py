"""A Release counts only for the suite that was asked for, and only in its time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.base.deb.distributions import SuiteLocation
from envbuilder.image.base.deb.release import ListedFile, SuiteRelease, parse_release

SHA = "0123456789abcdef" * 4
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
TEXT = (
    "Origin: Debian\nSuite: oldstable\nCodename: bookworm\nDate: Sat, 21 Nov 2026 00:53:02 UTC\n"
    "Valid-Until: Sat, 28 Nov 2026 00:53:02 UTC\nAcquire-By-Hash: yes\nMD5Sum:\n 00 1 main/x\n"
    f"SHA256:\n {SHA}   1234 main/binary-amd64/Packages.xz\n {SHA} 0 main/dep11/icons-64x64@2.tar.gz"
)


def suite(name: str) -> SuiteLocation:
    return SuiteLocation(directory=name, codename=name)


def release(text: str = TEXT) -> SuiteRelease:
    return parse_release(text, "InRelease")


def test_a_release_says_which_suite_it_is_when_it_was_made_and_what_it_lists() -> None:
    found = release()
    assert found.names == {"oldstable", "bookworm"}
    assert found.date == datetime(2026, 11, 21, 0, 53, 2, tzinfo=UTC)
    assert found.valid_until == found.date + timedelta(days=7)
    assert found.by_hash
    assert found.files["main/binary-amd64/Packages.xz"] == ListedFile(sha256=SHA, size=1234)


def test_a_release_of_an_archive_has_no_end() -> None:
    found = release("Codename: x\nDate: Sat, 09 Aug 2025 09:16:30 UTC")
    assert (found.valid_until, found.by_hash, found.files) == (None, False, {})
    found.refuse_unfit(suite("x"), now=NOW + timedelta(days=9999), allow_expired=False)


@pytest.mark.parametrize("asked", ["bookworm", "oldstable"])
def test_a_suite_may_be_asked_for_by_both_of_its_names(asked: str) -> None:
    release().refuse_unfit(suite(asked), now=NOW, allow_expired=False)


@pytest.mark.parametrize("asked", ["bullseye", "bookworm-security", "Bookworm", ""])
def test_another_suite_is_refused_with_both_names(asked: str) -> None:
    with pytest.raises(VerificationFailed, match=f"returned bookworm or oldstable instead of {asked}"):
        release().refuse_unfit(suite(asked), now=NOW, allow_expired=True)


def test_an_expired_release_is_refused_unless_that_is_allowed() -> None:
    later = NOW + timedelta(days=30)
    with pytest.raises(
        VerificationFailed, match=r"expired at 2026-11-28 00:53 UTC.*clock here shows 2026-12-22"
    ) as caught:
        release().refuse_unfit(suite("bookworm"), now=later, allow_expired=False)
    assert "--debian-allow-expired" in caught.value.hint
    release().refuse_unfit(suite("bookworm"), now=later, allow_expired=True)


def test_a_release_from_the_future_is_the_fault_of_the_clock() -> None:
    with pytest.raises(VerificationFailed, match="clock here shows 2020-01-01") as caught:
        release().refuse_unfit(suite("bookworm"), now=datetime(2020, 1, 1, tzinfo=UTC), allow_expired=True)
    assert "set the clock" in caught.value.hint
    release().refuse_unfit(suite("bookworm"), now=release().date - timedelta(minutes=5), allow_expired=False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "no field",
        "Date: Sat, 21 Nov 2026 00:53:02 UTC\n\nDate: other",
        "Suite: x",
        "Date: yesterday",
        "Date: Sat, 31 Feb 2026 00:53:02 UTC",
        "Date: Sat, 21 Nov 2026 24:61:02 UTC",
        "Date: Sat, 21 Nov 2026 00:53:02 UTC\nValid-Until: never",
        TEXT + "\nSuite: again",
        TEXT.replace(SHA, SHA[1:]),
        TEXT.replace(SHA, f"/{SHA[1:]}"),
        TEXT.replace(SHA, SHA.upper()),
        TEXT.replace("1234", "-60"),
        TEXT.replace("1234", "9" * 5000),
        TEXT.replace("1234", "²"),
        TEXT.replace("main/binary", "main /binary"),
    ],
)
def test_what_is_no_release_is_refused(text: str) -> None:
    with pytest.raises(VerificationFailed) as caught:
        release(text)
    assert caught.value.hint
    assert len(caught.value.message) < 300
