"""Versions of Debian packages."""

from __future__ import annotations

from envbuilder.image.base.dpkg import upstream
from envbuilder.lock.lock import OsPackagePin


def test_an_epoch_and_a_revision_are_no_part_of_the_upstream_version() -> None:
    packages = [OsPackagePin(name="python3", version="1:3.9.2-3")]
    assert str(upstream(packages, "python3")) == "3.9.2"
    assert upstream(packages, "libc6") is None
