"""A missing library of an extra is an error that names the extra."""

from __future__ import annotations

import pytest

from envbuilder.cluster.execution.optional_library import optional_library
from envbuilder.core.errors import ToolMissing


def test_a_missing_library_names_its_extra() -> None:
    with pytest.raises(ToolMissing, match="the library envbuilder_no_such is not installed") as caught:
        optional_library("envbuilder_no_such", "slurm")
    assert "extra `slurm`" in caught.value.message
    assert "install envbuilder_no_such" in caught.value.hint


def test_a_library_that_is_there_is_imported() -> None:
    assert optional_library("json", "none").loads("1") == 1
