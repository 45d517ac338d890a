"""The map of TensorFlow's public names: what it answers, and what it refuses to read."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.catalog.api_names import ApiMap
from envbuilder.catalog.load.api_names import load_api, read_api, spans
from envbuilder.core.errors import InvalidInput
from envbuilder.core.versions import Release
from tests.fakes.catalogs import MATRICES
from tools.api_map import spelled

UNLISTED = """
schema: 1
releases:
  - release: "1.4"
    read: "from its files"
    sources: ["a wheel"]
modules:
  - module: "tf"
    read: "1.4-1.9"
    names:
      - in: "1.4"
        have: "Session"
"""
RELEASES = tuple(map(Release, ("1.4", "1.5", "1.15", "2.0", "2.1")))


@cache
def real() -> ApiMap:
    return load_api(MATRICES)


def having(name: str) -> str | None:
    found = real().having(name)
    return None if found is None else spelled(frozenset(found), real().releases)


@pytest.mark.parametrize(
    ("name", "releases"),
    [
        ("tf.contrib", "1.4-1.15"),
        ("tf.contrib.distribute", "1.8-1.15"),
        ("tf.contrib.layers.fully_connected", "1.4-1.15"),
        ("tf.Session", "1.4-1.15"),
        ("tf.compat.v1", "1.13-2.21"),
        ("tf.distribute.MirroredStrategy", "1.13-2.21"),
        ("tf.random", "1.12-2.21"),
        ("tf.sysconfig.get_build_info", "2.3-2.21"),
        ("tf.test.is_built_with_cudnn", ""),
        ("tf.test.is_built_with_cuda", "1.4-2.21"),
        ("tf.estimator.Estimator", "1.4-2.15"),
        ("tf.summary.scalar", "1.4-2.21"),
        ("numpy.float", None),
    ],
)
def test_a_name_has_the_releases_of_the_wheels(name: str, releases: str | None) -> None:
    assert having(name) == releases


def test_every_release_of_the_catalog_was_read() -> None:
    found = {file.name.split("-")[1] for file in (MATRICES / "environments").glob("*.yaml")}
    assert {str(release) for release in real().releases} == found


def test_a_name_in_a_module_that_was_not_read_is_not_denied() -> None:
    assert not real().knows("tf.compat.v1.Session")
    assert having("tf.compat.v1.no_such_name") == having("tf.compat.v1")


@given(st.frozensets(st.sampled_from(RELEASES), min_size=1))
def test_spans_are_read_as_they_are_written(chosen: frozenset[Release]) -> None:
    assert spans(spelled(chosen, RELEASES), RELEASES) == chosen


@pytest.mark.parametrize(
    ("text", "problem"),
    [("schema: 2\nreleases: []\nmodules: []\n", "must be 1"), (UNLISTED, "missing from `releases`")],
)
def test_a_wrong_map_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        read_api(text, "api.yaml")


def test_a_catalog_without_a_map_knows_nothing(tmp_path: Path) -> None:
    assert load_api(tmp_path).having("tf.Session") == ()
