"""What the catalog says about vendor archives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.catalog.archives import ArchivedLibrary, ArchiveFormat, VendorArchive
from envbuilder.catalog.sources import Source

MEASURED = ArchivedLibrary(soname="libcudnn.so.7", path="cuda/lib64/libcudnn.so.7", sha256="1" * 64)
ARCHIVE = VendorArchive(
    id="cudnn-7.6.5.32-cuda9.0",
    format=ArchiveFormat.TAR_GZIP,
    publisher="nvidia-developer",
    path="compute/cudnn.tgz",
    file="cudnn.tgz",
    sha256="2" * 64,
    libraries=(replace(MEASURED, sha256=""),),
    agreeing=1,
    sources=(Source(text="made for this test"),),
)


@pytest.mark.parametrize(
    ("archive", "expected"),
    [
        (ARCHIVE, True),
        (replace(ARCHIVE, agreeing=2), False),
        (replace(ARCHIVE, libraries=(MEASURED,)), False),
        (replace(ARCHIVE, libraries=(MEASURED, *ARCHIVE.libraries)), True),
    ],
    ids=["one source", "two sources", "opened", "opened for one of its libraries"],
)
def test_a_sha256_is_confirmed_by_a_second_source_or_by_opening_the_archive(
    archive: VendorArchive, *, expected: bool
) -> None:
    assert archive.is_unconfirmed is expected
