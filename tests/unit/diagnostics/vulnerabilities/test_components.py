"""The packages of a lock are named as databases name them, and what cannot be compared is stated."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.catalog.archives import ArchiveFormat
from envbuilder.catalog.environments import BaseKind
from envbuilder.diagnostics.vulnerabilities.components import Component, inventory, left_out
from envbuilder.lock.lock import BasePin, PackageGroup
from tests.fakes.catalogs import good_lock
from tests.fakes.vendor_archives import pin_of, with_archives
from tests.unit.diagnostics.vulnerabilities.made import lock_of, os_pin, pin


def test_os_packages_are_their_source_package_once_without_the_suffix_of_a_rebuild() -> None:
    found = inventory(lock_of(pin("six", "1.16.0"), pin("wheel", "0.40", PackageGroup.BUILD)))
    assert found == (
        Component(ecosystem="Debian:12", name="glibc", version="2.36-9+deb12u3", packages=("libc-bin", "libc6")),
        Component(ecosystem="PyPI", name="six", version="1.16.0", group=PackageGroup.PACKAGES),
    )


def test_what_no_database_lists_is_stated() -> None:
    lock = with_archives(good_lock(), pin_of(b"archive", ArchiveFormat.TAR_GZIP))
    assert tuple(left_out(lock)) == (
        "4 OS packages: the release of the distribution of debian-new is not known",
        "Python 3.8.18: OSV has no ecosystem for CPython archives",
        f"{lock.archives[0].file}: OSV has no ecosystem for vendor archives",
        *((f"{len(lock.files)} own files: their origin is not known",) if lock.files else ()),
    )


def test_packages_inside_a_registry_image_are_not_known_but_added_ones_are_of_its_release() -> None:
    image = BasePin(id="nvidia", kind=BaseKind.IMAGE, image="nvidia/cuda:11.0.3-cudnn8-runtime-ubuntu20.04", digest="")
    lock = replace(lock_of(), base=image, os_packages=(os_pin("curl", "7.68.0-1ubuntu2"), os_pin("git", "")))
    assert [(each.ecosystem, each.name) for each in inventory(lock)] == [("Ubuntu:20.04:LTS", "curl")]
    assert tuple(left_out(lock))[:2] == (
        f"{image.image}: the lock does not name the packages inside the base",
        "git: the lock does not pin a version",
    )
