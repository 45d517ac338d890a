"""Names of images, and what a build asks of its engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.image.builder import BuildOptions, Feature, default_names
from envbuilder.lock.lockfile import digest
from tests.fakes.catalogs import good_lock

LOCK = good_lock()


def test_the_default_names_say_the_environment_and_the_lock() -> None:
    latest, exact = default_names(LOCK)
    assert latest == "envbuilder/tf-2.4-cuda11.0:latest"
    assert exact == f"envbuilder/tf-2.4-cuda11.0:{digest(LOCK)[7:19]}"


def test_a_lock_with_a_name_does_not_take_the_names_of_its_environment() -> None:
    assert default_names(replace(LOCK, name="vision")) == (
        "envbuilder/vision:latest",
        f"envbuilder/vision:{digest(LOCK)[7:19]}",
    )


@pytest.mark.parametrize(
    ("options", "features"),
    [
        (BuildOptions(push=True, jobs=3, use_cache=False), set()),
        (BuildOptions(output=Path("image")), {Feature.OUTPUT}),
        (BuildOptions(load=True, offline=True), {Feature.LOAD, Feature.OFFLINE}),
    ],
)
def test_options_that_only_some_engines_support_are_features(options: BuildOptions, features: set[Feature]) -> None:
    assert options.features == features
