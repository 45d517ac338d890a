"""Which Keras goes with which TensorFlow: the rules of the real catalog, and what a range gets of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envbuilder.catalog.keras import KerasFacts
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.core.errors import InvalidInput
from tests.fakes.catalogs import DATA, MATRICES, real_catalog

FACTS = real_catalog().keras
# Seen with real installs, 2026-11-20 and 2026-11-21; the notes are in matrices/keras.yaml.
SEEN = {
    ("1.4.1", "2.1.5"): True,
    ("1.4.1", "2.1.6"): False,
    ("1.4.1", "2.2.4"): False,
    ("1.5.1", "2.2.4"): True,
    ("1.5.1", "2.2.5"): True,
    ("1.5.1", "2.3.0"): False,
    ("1.8.0", "2.3.1"): False,
    ("1.12.3", "2.2.0"): False,
    ("1.12.3", "2.2.4"): True,
    ("1.12.3", "2.3.0"): False,
    ("1.13.2", "2.3.1"): True,
    ("1.13.2", "2.4.3"): False,
    ("1.15.5", "2.3.1"): True,
    ("1.15.5", "2.2.0"): False,
    ("2.0.4", "2.2.4"): False,
    ("2.0.4", "2.2.5"): False,
    ("2.0.4", "2.3.1"): True,
    ("2.1.4", "2.4.3"): False,
    ("2.2.3", "2.3.1"): True,
    ("2.2.3", "2.4.3"): True,
    ("2.3.4", "2.3.1"): False,
    ("2.3.4", "2.4.3"): True,
    ("2.4.4", "2.2.4"): False,
    ("2.4.4", "2.4.3"): True,
    ("2.4.4", "2.6.0"): False,
    ("2.5.3", "2.4.3"): False,
    ("2.5.3", "2.6.0"): False,
    ("2.6.5", "2.6.0"): True,
    ("2.6.5", "2.7.0"): False,
    ("2.13.1", "2.13.1"): True,
    ("2.15.1", "2.15.0"): True,
    ("2.15.1", "3.0.0"): False,
    ("2.16.2", "3.15.1"): True,
    ("2.16.2", "2.15.0"): False,
}


@pytest.mark.parametrize(("tensorflow", "keras"), SEEN)
def test_a_rule_says_what_was_seen(tensorflow: str, keras: str) -> None:
    rule = FACTS.rule(Version(keras), Version(tensorflow))
    assert rule is not None
    assert rule.works is SEEN[tensorflow, keras]


def test_every_tensorflow_but_2_5_has_a_keras_that_works() -> None:
    without = set()
    for row in real_catalog().environments:
        if FACTS.newest(row.framework.version, SpecifierSet()) is None:
            without.add(row.framework.version.release[:2])
    assert without == {(2, 5)}


def test_every_rule_decides_something_that_no_rule_before_it_does() -> None:
    releases = {row.framework.version for row in real_catalog().environments}
    used = {id(FACTS.rule(keras, tensorflow)) for keras in FACTS.releases for tensorflow in releases}
    assert {rule.reason for rule in FACTS.rules if id(rule) not in used} == set()


def test_the_newest_within_a_range_is_found_and_one_outside_is_not() -> None:
    found = FACTS.newest(Version("1.12.3"), SpecifierSet("==2.2.*"))
    assert found is not None
    assert found[0] == Version("2.2.5")
    assert FACTS.newest(Version("1.12.3"), SpecifierSet("==2.3.*")) is None
    assert KerasFacts().newest(Version("1.12.3"), SpecifierSet()) is None


def _spoilt(folder: Path, name: str, old: str, new: str) -> str:
    for file in sorted((DATA / "catalog").rglob("*.yaml")):
        target = folder / file.relative_to(DATA / "catalog")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    text = (MATRICES / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        load_catalog(folder)
    return "\n".join(str(fault).removeprefix(f"{folder}/") for fault in caught.value.faults)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('keras: "==2.1.6"', 'keras: "2.1.6"', "keras.yaml:"),
        ('keras: "==2.1.6"', 'keras: "==2.1.7"', "is about none of the releases above"),
        ('  - "2.0.9"', '  - "2.0.7"', "releases: must be in ascending order, each once"),
        ('  - "2.0.9"', '  - "new"', "'new' is not a version"),
        ("works: false", "works: maybe", "works: must be true or false"),
        ('reason: "it calls tf.nn.softmax', 'cause: "it calls tf.nn.softmax', "reason: is missing"),
    ],
)
def test_a_wrong_rule_is_told_with_file_line_and_field(tmp_path: Path, old: str, new: str, fault: str) -> None:
    told = _spoilt(tmp_path / "matrices", "keras.yaml", old, new)
    assert fault in told
    assert told.startswith("keras.yaml:")


def test_a_wrong_build_of_nvidias_is_told_likewise(tmp_path: Path) -> None:
    told = _spoilt(tmp_path / "matrices", "vendor-builds.yaml", 'oldest: "6.0"', 'oldest: "Pascal"')
    assert "builds[0].oldest: 'Pascal' is not a dotted release number" in told


def test_a_catalog_without_these_files_knows_nothing_of_keras(tmp_path: Path) -> None:
    catalog = load_catalog(DATA / "catalog")
    assert (catalog.keras, catalog.vendor_builds) == (KerasFacts(), ())
