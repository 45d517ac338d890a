"""A new spec reads back as the defaults of its row."""

from __future__ import annotations

import re

import pytest

from envbuilder.catalog.environments import Environment
from envbuilder.image.dockerfile.spec_file import render_spec
from envbuilder.lock.spec import Spec
from tests.fakes.catalogs import TEMPLATES, real_catalog
from tests.fakes.specs import read_spec

ROWS = real_catalog().environments


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_new_spec_reads_back_as_the_defaults_of_its_row(row: Environment) -> None:
    assert read_spec(render_spec(row, TEMPLATES), "envbuilder.yaml") == Spec(environment=row.id)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_example_is_right_when_its_comment_sign_is_taken_away(row: Environment) -> None:
    text = render_spec(row, TEMPLATES)
    text = re.sub(r"^packages: \[\]  # such as ", "packages: ", text, flags=re.MULTILINE)
    text = re.sub(r"^# ([a-z_]+:|  )", r"\1", text, flags=re.MULTILINE)
    one_base = re.sub(r"(^base: .*\n)(^base: .*\n)+", r"\1", text, flags=re.MULTILINE)
    spec = read_spec(one_base, "envbuilder.yaml")
    assert (spec.environment, spec.base, spec.python) == (row.id, row.bases[0].system.id, row.default_python)
    assert spec.cutoff == row.cutoff
    assert spec.packages
    assert spec.env
    assert spec.sources.python_archives
