"""Versions are affected as the OSV schema evaluates them, in the order of their ecosystem."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.conversion.reading import Mismatched
from envbuilder.diagnostics.vulnerabilities.documents import next_fix, read_document
from envbuilder.diagnostics.vulnerabilities.rating import Rating
from tests.unit.diagnostics.vulnerabilities.made import WORST, osv, until

DEBIAN = "Debian:12"
BRANCHES = (
    {"introduced": "3.20.0"},
    {"fixed": "3.20.2"},
    {"introduced": "0"},
    {"fixed": "3.18.3"},
)


@pytest.mark.parametrize(
    ("version", "events", "ecosystem", "expected"),
    [
        ("3.19.6", until("3.20.2"), "PyPI", "3.20.2"),
        ("3.20.2", until("3.20.2"), "PyPI", None),
        ("3.9", until("3.10"), "PyPI", "3.10"),
        ("3.20.2rc1", until("3.20.2"), "PyPI", "3.20.2"),
        ("3.17", BRANCHES, "PyPI", "3.18.3"),
        ("3.19", BRANCHES, "PyPI", None),
        ("3.20.1", BRANCHES, "PyPI", "3.20.2"),
        ("1.0", ({"introduced": "1.0"}, {"last_affected": "1.2"}), "PyPI", ""),
        ("1.2", ({"introduced": "1.0"}, {"last_affected": "1.2"}), "PyPI", ""),
        ("1.2.1", ({"introduced": "1.0"}, {"last_affected": "1.2"}), "PyPI", None),
        ("1.0", ({"introduced": "0"},), "PyPI", ""),
        ("2.36-9+deb12u3", until("2.36-9+deb12u4"), DEBIAN, "2.36-9+deb12u4"),
        ("1:1.0", until("2.0"), DEBIAN, None),
        ("1.0~rc1", until("1.0"), DEBIAN, "1.0"),
        # Debian's way to say that a release is not affected.
        ("1.0", ({"introduced": "0"}, {"fixed": "0"}), DEBIAN, None),
    ],
)
def test_ranges_decide(version: str, events: tuple[dict[str, str], ...], ecosystem: str, expected: str | None) -> None:
    document = read_document(osv("X-1", events=events, ecosystem=ecosystem))
    assert next_fix(document.affected[0], version) == expected


def test_listed_versions_are_affected_beside_ranges_and_commits_are_ignored() -> None:
    affected = {
        "package": {"ecosystem": "PyPI", "name": "six"},
        "ranges": [{"type": "GIT", "repo": "https://git.invalid", "events": [{"introduced": "0"}, {"fixed": "abc"}]}],
        "versions": ["1.0", "not-a-version"],
    }
    document = read_document({"id": "X-1", "affected": [affected]})
    assert next_fix(document.affected[0], "1.0.0") == ""
    assert next_fix(document.affected[0], "1.1") is None


def test_a_range_that_cannot_be_compared_is_an_error() -> None:
    document = read_document(osv("X-1", events=until("1.0-final-really")))
    with pytest.raises(ValueError, match=r"'1\.0-final-really' is not a version of PEP 440"):
        next_fix(document.affected[0], "1.0")


@given(st.lists(st.integers(0, 9), min_size=1, max_size=3), st.integers(0, 9))
def test_a_fixed_version_is_never_affected_by_its_own_range(parts: list[int], last: int) -> None:
    version = ".".join(map(str, [*parts, last]))
    assert next_fix(read_document(osv("X-1", events=until(version))).affected[0], version) is None


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"severity": [{"type": "CVSS_V3", "score": WORST}], "database_specific": {"severity": "LOW"}}, "critical"),
        ({"severity": [{"type": "Ubuntu", "score": "medium"}]}, "medium"),
        (
            {"severity": [{"type": "CVSS_V4", "score": "CVSS:4.0/AV:N"}], "database_specific": {"severity": "HIGH"}},
            "high",
        ),
        ({"database_specific": {"severity": ["odd"]}}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_the_severity_is_that_of_a_vector_else_of_a_word(more: dict[str, object], expected: str) -> None:
    document = read_document(osv("X-1") | more)
    assert document.rating(document.affected[0]) is Rating(expected)


def test_the_urgency_of_debian_is_a_severity() -> None:
    affected = {"package": {"ecosystem": DEBIAN, "name": "glibc"}, "ecosystem_specific": {"urgency": "unimportant"}}
    document = read_document({"id": "DEBIAN-CVE-1", "affected": [affected]})
    assert document.rating(document.affected[0]) is Rating.LOW


def test_a_notice_about_several_vulnerabilities_is_an_alias_of_none() -> None:
    assert read_document(osv("DSA-1", upstream=["CVE-1", "CVE-2"])).names == ("DSA-1",)
    assert read_document(osv("DEBIAN-CVE-1", upstream=["CVE-1"])).names == ("DEBIAN-CVE-1", "CVE-1")


def test_what_is_not_of_the_schema_is_refused_with_its_field() -> None:
    with pytest.raises(Mismatched, match=r"affected\[0\]\.ranges\[0\]\.events"):
        read_document({"id": "X-1", "affected": [{"ranges": [{"type": "ECOSYSTEM", "events": "1.0"}]}]})
