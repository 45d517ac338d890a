"""Files that steps of a build need to reach their sources from this host."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from envbuilder.catalog.environments import BaseKind
from envbuilder.core.errors import UsageError
from envbuilder.image.host_files import host_files
from envbuilder.lock.lock import Lock
from tests.fakes.catalogs import good_lock, small_catalog

BASES = small_catalog().bases
MIRROR = "http://mirror.example/debian"


def found(
    lock: Lock, *, ca_bundle: bytes = b"", index: str = "", mirrors: tuple[str, ...] = (MIRROR,)
) -> dict[str, str]:
    files = host_files(lock, BASES, ca_bundle=ca_bundle, index=index, mirrors=mirrors)
    return {file.name: file.content.decode() for file in files}


def test_a_host_without_settings_gives_only_the_archive_of_its_os_packages() -> None:
    assert list(found(good_lock())) == ["sources.list"]
    suites = [line.split()[1:3] for line in found(good_lock())["sources.list"].splitlines()]
    assert suites == [[MIRROR, "bookworm"], [MIRROR, "bookworm-updates"]]
    assert found(replace(good_lock(), os_packages=())) == {}


def test_a_registry_image_has_its_own_apt_configuration() -> None:
    image = next(base for base in BASES if base.kind is BaseKind.IMAGE)
    lock = replace(good_lock(), base=replace(good_lock().base, id=image.id))
    assert found(lock, mirrors=()) == {}


def test_os_packages_on_a_debian_base_need_an_archive() -> None:
    with pytest.raises(UsageError, match="OS packages need an archive of Debian") as refused:
        found(good_lock(), mirrors=())
    assert "--debian-mirror URL" in refused.value.hint


def test_certificates_and_the_index_are_passed_on() -> None:
    address = 'https://index.example/"odd"\\simple'
    files = found(good_lock(), ca_bundle=b"CA", index=address)
    assert files["ca.pem"] == "CA"
    assert tomllib.loads(files["uv.toml"]) == {"index": [{"url": address, "default": True}]}
