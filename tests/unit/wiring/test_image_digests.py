"""A lock is written without the digests of its image if they cannot be computed, and says why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.catalog.archives import ArchiveFormat
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.image_digests import with_image
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings
from tests.fakes.catalogs import good_lock, real_catalog
from tests.fakes.vendor_archives import pin_of, with_archives


@pytest.mark.usefixtures("envbuilder")
def test_a_license_that_was_not_accepted_leaves_the_image_out() -> None:
    told: list[str] = []
    lock = replace(with_archives(good_lock(), pin_of(b"archive", ArchiveFormat.MAKESELF)), image=None)
    made = with_image(Session(settings(), real_catalog(), told.append), lock, Sources(), None)
    assert made == lock
    assert told[-1] == (
        "the lock does not name its image, which cannot be computed here: the license of NVIDIA's libraries has to be "
        "accepted before they are copied into an image"
    )
