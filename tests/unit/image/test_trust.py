"""What a build trusts is said in sentences, and once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from envbuilder.catalog.environments import BaseKind
from envbuilder.image.trust import Origins, is_new, trusted_by_lock, trusted_by_spec
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import OwnFile, PackageGroup, PackagePin, ToolPin
from envbuilder.lock.spec import Spec
from tests.fakes.catalogs import good_lock

LOCK = good_lock()
ORIGINS = Origins(
    index="https://index.example/simple",
    debian="http://mirror.example/debian",
    ubuntu="http://mirror.example/ubuntu",
    registry="",
)
OWN = {tool.name: tool.sha256 for tool in LOCK.tools}


def test_every_source_is_named() -> None:
    assert trusted_by_lock(LOCK, ORIGINS, OWN) == (
        "packages: 9 files by sha256 from https://index.example/simple",
        "base: debian-new by digest, from http://mirror.example/debian",
        "OS packages: 2 packages by sha256 from http://mirror.example/debian",
        "interpreter: cpython-3.8.18-x86_64-linux-gnu.tar.gz by sha256; it is run",
    )


def test_a_base_of_a_registry_is_named_with_its_mirror() -> None:
    base = replace(LOCK.base, kind=BaseKind.IMAGE, image="nvidia/cuda:11.0.3", packages=())
    said = trusted_by_lock(replace(LOCK, base=base), replace(ORIGINS, registry="localhost:5000"), OWN)
    assert "base: nvidia/cuda:11.0.3 by digest from localhost:5000" in said


def test_a_mirror_is_named_for_what_the_other_sources_lack() -> None:
    said = trusted_by_lock(LOCK, replace(ORIGINS, mirror="localhost:5000/team/tf"), OWN)
    assert "mirror: files that these sources no longer have, by sha256 from localhost:5000/team/tf" in said


def test_code_that_runs_and_files_are_named() -> None:
    source = PackagePin(
        name="gast", version="0.2.2", file="gast-0.2.2.tar.gz", sha256="0" * 64, group=PackageGroup.PACKAGES
    )
    files = tuple(OwnFile(path=f"/app/{number}", sha256="0" * 64) for number in range(7))
    lock = replace(
        LOCK,
        packages=(*LOCK.packages, source),
        files=files,
        tools=(*LOCK.tools, ToolPin(name="probe", version="9", sha256="1" * 64)),
    )
    said = trusted_by_lock(lock, ORIGINS, OWN)
    assert said[-3:] == (
        "tool: probe 9 by sha256, not the one of this envbuilder",
        "build scripts: those of gast 0.2.2 run, as source distributions",
        "own files: /app/0, /app/1, /app/2, /app/3, /app/4 and 2 more",
    )


def test_the_archive_of_a_base_is_that_of_its_distribution() -> None:
    lock = replace(LOCK, base=replace(LOCK.base, kind=BaseKind.UBUNTU))
    assert trusted_by_lock(lock, ORIGINS, OWN)[1:3] == (
        "base: debian-new by digest, from http://mirror.example/ubuntu",
        "OS packages: 2 packages by sha256 from http://mirror.example/ubuntu",
    )


def test_a_bundle_stands_for_all_sources() -> None:
    origins = replace(ORIGINS, bundle="signed by SHA256:x", offline=True)
    said = trusted_by_lock(LOCK, origins, OWN)
    assert said[0] == "bundle: signed by SHA256:x"
    assert not [sentence for sentence in said if "example" in sentence]
    assert trusted_by_lock(LOCK, replace(origins, offline=False), OWN)[1] == (
        "files missing from the bundle: from https://index.example/simple and http://mirror.example/debian, by sha256"
    )


def test_layer_caches_are_named_unless_nothing_is_fetched() -> None:
    origins = replace(ORIGINS, layers="cache.example/layers")
    [said] = [each for each in trusted_by_lock(LOCK, origins, OWN) if each.startswith("layers: ")]
    assert "cache.example/layers" in said
    assert trusted_by_lock(LOCK, replace(origins, offline=True), OWN)[0].startswith("packages: ")
    spec = Spec(environment="x", sources=Sources(layer_caches=("cache.example/layers",)))
    assert trusted_by_spec(spec, origins, index_is_default=True) == (said,)


def test_a_spec_says_only_what_is_not_the_default() -> None:
    assert trusted_by_spec(Spec(environment="x"), ORIGINS, index_is_default=True) == ()
    spec = Spec(
        environment="x",
        source_builds=("gast",),
        sources=Sources(
            debian_mirrors=("http://mirror.example/debian",),
            debian_keyring="own.gpg",
            debian_allow_expired=True,
            ubuntu_mirrors=("http://mirror.example/ubuntu",),
            registry_mirror="localhost:5000",
            mirror="localhost:5000/team/tf",
        ),
    )
    origins = replace(ORIGINS, registry="localhost:5000", mirror="localhost:5000/team/tf")
    assert trusted_by_spec(spec, origins, index_is_default=False) == (
        "package index: https://index.example/simple",
        "Debian archive: http://mirror.example/debian",
        "Debian archive: signed by a key of own.gpg",
        "Debian archive: expired suites too, which lack later security updates",
        "Ubuntu archive: http://mirror.example/ubuntu",
        "registry: localhost:5000",
        "mirror: localhost:5000/team/tf",
        "build scripts: those of gast run where they have no wheel",
    )


def test_it_is_said_once_until_the_lock_or_a_source_changes(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    assert [is_new(seen, LOCK, ("a",)) for _ in range(2)] == [True, False]
    assert is_new(seen, LOCK, ("b",))
    assert is_new(seen, replace(LOCK, epoch=1), ("a",))
    assert not is_new(seen, replace(LOCK, name="other"), ("a",))


def test_where_nothing_can_be_remembered_it_is_said_again(tmp_path: Path) -> None:
    (tmp_path / "seen").write_text("a file", "utf-8")
    seen = tmp_path / "seen"
    assert [is_new(seen, LOCK, ("a",)) for _ in range(2)] == [True, True]
