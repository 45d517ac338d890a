"""Every row on every base renders to the files that were reviewed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from envbuilder.catalog.environments import Environment
from tests.fakes.catalogs import real_row
from tests.golden.products import SHOWN, image_files, images, shared_files, spec_file

Golden = Callable[[str, str], None]


@pytest.mark.parametrize("folder", images())
def test_an_image_renders_as_reviewed(folder: str, golden: Golden) -> None:
    for path, text in image_files(folder):
        golden(path, text)


def test_what_all_images_share_renders_as_reviewed(golden: Golden) -> None:
    for path, text in shared_files():
        golden(path, text)


@pytest.mark.parametrize("row", [real_row(name) for name in SHOWN], ids=lambda row: row.id)
def test_a_new_spec_is_as_reviewed(row: Environment, golden: Golden) -> None:
    golden(*spec_file(row))
