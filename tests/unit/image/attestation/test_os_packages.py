"""OS packages are named with their release and their source package, as vulnerability databases list them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from envbuilder.catalog.environments import BaseKind
from envbuilder.image.attestation.bill_of_materials import bill_of_materials
from envbuilder.image.attestation.os_packages import release_of, source_of
from envbuilder.lock.lock import BasePin, OsPackagePin
from tests.fakes.catalogs import good_lock, real_catalog


def base(name: str, kind: BaseKind, image: str = "") -> BasePin:
    return BasePin(id=name, kind=kind, image=image, digest="")


@pytest.mark.parametrize(
    ("pin", "distro", "ecosystem"),
    [
        (base("debian-bookworm", BaseKind.DEBIAN), "debian-12", "Debian:12"),
        (base("ubuntu-focal", BaseKind.UBUNTU), "ubuntu-20.04", "Ubuntu:20.04:LTS"),
        (base("debian-new", BaseKind.DEBIAN), "", ""),
        (base("x", BaseKind.IMAGE, "nvidia/cuda:9.0-cudnn7-runtime-ubuntu16.04"), "ubuntu-16.04", "Ubuntu:16.04:LTS"),
        (base("x", BaseKind.IMAGE, "team/base:1"), "", ""),
    ],
)
def test_the_release_is_that_of_the_base(pin: BasePin, distro: str, ecosystem: str) -> None:
    assert (release_of(pin).distro, release_of(pin).ecosystem) == (distro, ecosystem)


def test_the_release_of_every_base_of_the_catalog_is_known() -> None:
    unknown = [
        each.id for each in real_catalog().bases if not release_of(base(each.id, each.kind, each.image)).ecosystem
    ]
    assert unknown == []


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("pool/main/g/glibc/libc6_2.36-9_amd64.deb", "glibc"),
        ("security:pool/updates/main/g/glibc/libc6_2.36-9_amd64.deb", "glibc"),
        ("pool/main/libx/libxml2/libxml2_2.9_amd64.deb", "libxml2"),
        ("pool/libc6.deb", "libc6"),
        ("", "libc6"),
    ],
)
def test_the_source_package_is_the_directory_of_the_file(file: str, source: str) -> None:
    assert source_of(OsPackagePin(name="libc6", version="2.36-9", file=file)) == source


def test_the_bill_names_release_and_source_package() -> None:
    pins = (
        OsPackagePin(name="bash", version="5.2", file="pool/main/b/bash/bash_5.2_amd64.deb"),
        OsPackagePin(name="libc6", version="2.36-9", file="pool/main/g/glibc/libc6_2.36-9_amd64.deb"),
    )
    lock = replace(good_lock(), base=replace(base("debian-bookworm", BaseKind.DEBIAN), packages=pins), os_packages=())
    named = {each.get("purl") for each in json.loads(bill_of_materials(lock, "sha256:1"))["components"]}
    assert "pkg:deb/debian/bash@5.2?arch=amd64&distro=debian-12" in named
    assert "pkg:deb/debian/libc6@2.36-9?arch=amd64&distro=debian-12&upstream=glibc" in named
