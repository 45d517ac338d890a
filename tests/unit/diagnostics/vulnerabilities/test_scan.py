"""A scan reports each vulnerability once, ignores withdrawn ones, and hides nothing that it could not compare."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.core.errors import UsageError
from envbuilder.diagnostics.vulnerabilities.database import Database
from envbuilder.diagnostics.vulnerabilities.rating import Rating
from envbuilder.diagnostics.vulnerabilities.scan import Scan, failing, scan
from envbuilder.lock.lock import Lock
from tests.fakes.catalogs import real_catalog
from tests.unit.diagnostics.vulnerabilities.made import WORST, directory, lock_of, osv, pin, until

LOCK = lock_of(pin("protobuf", "3.19.1"), pin("ruamel-yaml", "0.17"))


def scanned(folder: Path, *documents: dict[str, object], lock: Lock = LOCK) -> Scan:
    return scan(lock, real_catalog(), [Database(name="osv", path=directory(folder, *documents))])


def test_documents_of_several_databases_about_one_vulnerability_are_one_finding(tmp_path: Path) -> None:
    found = scanned(
        tmp_path,
        osv("GHSA-aaaa", aliases=["CVE-2099-1"], events=until("3.19.5"), summary="A  made\nsummary"),
        osv(
            "PYSEC-2099-7",
            aliases=["GHSA-aaaa"],
            events=until("3.19.6"),
            severity=[{"type": "CVSS_V3", "score": WORST}],
        ),
        osv("CVE-2099-1", events=until("3.19.5"), database_specific={"severity": "LOW"}),
    )
    [one] = found.vulnerabilities
    assert (one.id, one.aliases) == ("CVE-2099-1", ("GHSA-aaaa", "PYSEC-2099-7"))
    assert (one.rating, one.fixed, one.summary) == (Rating.CRITICAL, "3.19.6", "A made summary")


def test_withdrawn_documents_other_packages_and_other_releases_are_no_findings(tmp_path: Path) -> None:
    found = scanned(
        tmp_path,
        osv("A-1", withdrawn="2099-01-01T00:00:00Z"),
        osv("A-2", package="numpy"),
        osv("A-3", package="glibc", ecosystem="Debian:11"),
        osv("A-4", package="glibc", ecosystem="Debian:12", events=until("2.36-9+deb12u4")),
        osv("A-5", package="Ruamel.YAML"),
        osv("A-6", package="protobuf", ecosystem="npm"),
    )
    assert [(each.id, each.component.name) for each in found.vulnerabilities] == [
        ("A-4", "glibc"),
        ("A-5", "ruamel-yaml"),
    ]
    assert (found.withdrawn, found.unread) == (1, ())
    assert found.components == (("Debian:12", 1), ("PyPI", 2))
    assert [(each.documents, each.newest) for each in found.databases] == [(6, "2026-11-20")]


def test_documents_that_cannot_be_used_are_named_and_the_others_count(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "list.json").write_text('{"id": "A-1", "affected": {}}')
    (tmp_path / "none.json").write_text('{"affected": []}')
    found = scanned(tmp_path, osv("A-2", events=until("no version at all")), osv("A-3"))
    assert [each.id for each in found.vulnerabilities] == ["A-3"]
    assert [each.document for each in found.unread] == [
        "osv: A-2.json", "osv: bad.json", "osv: list.json", "osv: none.json",
    ]  # fmt: skip
    assert "is not a version of PEP 440" in found.unread[0].problem


def test_an_ecosystem_without_documents_is_stated_and_none_at_all_is_an_error(tmp_path: Path) -> None:
    found = scanned(tmp_path / "some", osv("A-1"))
    assert found.left_out[0] == "Debian:12 (1): the databases have no document for it"
    assert found.components == (("PyPI", 2),)
    with pytest.raises(UsageError, match="no document for Debian:12 or PyPI"):
        scanned(tmp_path / "none", osv("A-1", ecosystem="npm"))


def test_the_first_of_two_documents_with_one_id_counts(tmp_path: Path) -> None:
    old, new = (
        directory(tmp_path / "old", osv("A-1", summary="old")),
        directory(tmp_path / "new", osv("A-1", summary="new")),
    )
    databases = [Database(name=path.name, path=path) for path in (new, old)]
    [one] = scan(LOCK, real_catalog(), databases).vulnerabilities
    assert one.summary == "new"


def test_the_order_is_the_severity_then_the_package(tmp_path: Path) -> None:
    found = scanned(
        tmp_path,
        osv("A-1"),
        osv("A-2", database_specific={"severity": "LOW"}),
        osv("A-3", package="ruamel-yaml", database_specific={"severity": "HIGH"}),
        osv("A-4", database_specific={"severity": "HIGH"}),
    )
    assert [each.id for each in found.vulnerabilities] == ["A-4", "A-3", "A-2", "A-1"]


@pytest.mark.parametrize(
    ("least", "only_fixable", "expected"),
    [
        (Rating.CRITICAL, False, ["A-1", "A-4"]),
        (Rating.HIGH, False, ["A-1", "A-2", "A-4"]),
        (Rating.LOW, False, ["A-1", "A-2", "A-3", "A-4"]),
        (Rating.LOW, True, ["A-2"]),
        (None, False, []),
    ],
)
def test_severe_and_unknown_ones_fail(
    tmp_path: Path, least: Rating | None, only_fixable: bool, expected: list[str]
) -> None:
    found = scanned(
        tmp_path,
        osv("A-1", severity=[{"type": "CVSS_V3", "score": WORST}], events=until("4.0")),
        osv("A-2", database_specific={"severity": "HIGH"}, events=until("3.19.2")),
        osv("A-3", database_specific={"severity": "LOW"}),
        osv("A-4"),
    )
    assert sorted(each.id for each in failing(found, least, only_fixable=only_fixable)) == expected
