"""Whether foreign code runs at all, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.errors import ToolMissing
from envbuilder.runtime.choosing import confined
from envbuilder.runtime.sandbox import FOREIGN
from envbuilder.runtime.unconfined import Unconfined
from tests.unit.running.test_runner import Telling


def test_foreign_code_runs_in_the_first_sandbox_that_works(tmp_path: Path) -> None:
    works = Telling()
    assert confined((Telling(trouble="no user namespaces"), works), Unconfined(work=tmp_path)) is works
    assert [task.uid for task in works.tasks] == [FOREIGN]


def test_without_a_sandbox_it_is_refused_with_the_option_that_allows_it() -> None:
    with pytest.raises(ToolMissing, match=r"(?s)only run in a sandbox.*no user namespaces") as caught:
        confined((Telling(trouble="no user namespaces"),), None)
    assert "--engine docker" in caught.value.hint
    assert "--allow-host-builds" in caught.value.hint


def test_without_a_sandbox_it_runs_here_where_that_is_allowed(tmp_path: Path) -> None:
    here = Unconfined(work=tmp_path)
    assert confined((Telling(trouble="no user namespaces"),), here) is here
