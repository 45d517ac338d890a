"""NVIDIA's license has to be accepted before its libraries are used."""

from __future__ import annotations

import pytest

from envbuilder.catalog.archives import ArchivedLibrary, ArchiveFacts, ArchiveFormat, ArchivePin, Publisher
from envbuilder.core.errors import LicenseNotAccepted
from envbuilder.lock.publishers import refuse_unaccepted

FACTS = ArchiveFacts(
    publishers=(
        Publisher(
            id="vendor", title="The vendor", address="https://vendor.example/", eula="https://vendor.example/eula"
        ),
        Publisher(id="free", title="Free files", address="https://free.example/"),
    )
)


def archive(publisher: str) -> ArchivePin:
    return ArchivePin(
        id="cuda-9.0.176-runfile",
        format=ArchiveFormat.TAR_GZIP,
        publisher=publisher,
        path="cuda.tgz",
        file="cuda.tgz",
        sha256="a" * 64,
        eula="EULA.txt",
        libraries=(ArchivedLibrary(soname="libcublas.so.9.0", path="lib64/libcublas.so.9.0"),),
    )


def test_the_refusal_names_the_libraries_the_license_and_how_to_accept_it() -> None:
    with pytest.raises(LicenseNotAccepted) as refused:
        refuse_unaccepted([archive("vendor")], FACTS, accepted=False)
    assert (
        "cuda-9.0.176-runfile: libcublas.so.9.0 (license: https://vendor.example/eula, and EULA.txt in the archive)"
        in refused.value.message
    )
    for way in ("--accept-nvidia-eula", "accept_nvidia_eula: true", "ENVBUILDER_ACCEPT_NVIDIA_EULA=1"):
        assert way in refused.value.hint


def test_an_accepted_license_and_an_archive_without_one_are_not_refused() -> None:
    refuse_unaccepted([archive("vendor")], FACTS, accepted=True)
    refuse_unaccepted([archive("free")], FACTS, accepted=False)


def test_an_archive_of_an_unknown_publisher_counts_as_one_with_a_license() -> None:
    with pytest.raises(LicenseNotAccepted, match="its publisher is not in the catalog"):
        refuse_unaccepted([archive("somebody")], FACTS, accepted=False)
