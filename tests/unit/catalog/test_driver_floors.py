"""The oldest driver of a CUDA release, by NVIDIA's tables."""

from __future__ import annotations

import pytest

from envbuilder.catalog.driver_floors import driver_floor
from envbuilder.core.versions import Release
from tests.fakes.catalogs import real_catalog


@pytest.mark.parametrize(
    ("cuda", "driver"),
    [
        ("8.0", "375.26"),
        ("8.0.44", "375.26"),
        ("9.0", "384.81"),
        ("9.2", "396.37"),
        ("11.0", "450.51.06"),
        ("11.0.2", "450.51.05"),
        ("11.8", "450.80.02"),
        ("12.5", "525.60.13"),
        ("13.1", "580.65.06"),
    ],
)
def test_the_driver_floor_is_the_familys_or_that_of_the_newest_update(cuda: str, driver: str) -> None:
    assert driver_floor(real_catalog().cuda, Release(cuda)) == Release(driver)


def test_a_release_without_a_known_driver_is_not_guessed() -> None:
    with pytest.raises(KeyError, match=r"no driver is known for CUDA 6\.5"):
        driver_floor(real_catalog().cuda, Release("6.5"))
