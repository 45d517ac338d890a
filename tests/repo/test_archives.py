"""Vendor archives of the catalog: every pin has a known publisher, and enough sources to be trusted."""

from __future__ import annotations

import pytest

from envbuilder.catalog.archives import VendorArchive
from envbuilder.catalog.environments import Environment, PublicationState
from tests.fakes.catalogs import real_catalog

FACTS = real_catalog().archives
ONE_BASE = {"tf-2.16-cuda12.3", "tf-2.17-cuda12.3"}
"""No image with CUDA 12.3 and cuDNN 8.9 is in the catalog; their base is a Debian tree with wheels, both published."""


def test_archives_cover_the_cuda_releases_that_wheels_were_compiled_with() -> None:
    releases = {archive.id.removesuffix("-runfile") for archive in FACTS.archives}
    assert releases >= {
        f"cuda-{release}" for release in ("8.0.61", "9.0.176", "10.0.130", "10.1.243", "11.0.3", "11.2.2", "11.8.0")
    }


@pytest.mark.parametrize("archive", FACTS.archives, ids=lambda archive: archive.id)
def test_an_archive_names_as_many_sources_as_agree(archive: VendorArchive) -> None:
    assert len(archive.sources) >= archive.agreeing


def test_a_file_of_nvidia_is_pinned_once_for_each_path() -> None:
    paths = [(archive.publisher, archive.path, archive.file) for archive in FACTS.archives]
    assert len(set(paths)) == len(paths)


def test_eight_published_hashes_are_known_to_be_wrong() -> None:
    assert len(FACTS.known_wrong) == 8
    pinned = {(archive.file, archive.sha256) for archive in FACTS.archives}
    assert not pinned & {(wrong.file, wrong.sha256) for wrong in FACTS.known_wrong}


@pytest.mark.parametrize("row", [row for row in real_catalog().environments if row.cuda], ids=lambda row: row.id)
def test_a_gpu_environment_has_two_bases_that_are_not_known_to_be_withdrawn(row: Environment) -> None:
    ways = [choice for choice in row.bases if choice.system.publication.state is not PublicationState.WITHDRAWN]
    assert len(ways) >= (1 if row.id in ONE_BASE else 2)
