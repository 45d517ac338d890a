"""Whether foreign code runs at all, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.core.errors import ToolFailed, ToolMissing
from envbuilder.oci.runtime.command import RunResult
from envbuilder.oci.runtime.landlock import Landlock
from envbuilder.oci.runtime.sandbox import FOREIGN, Task
from envbuilder.oci.runtime.selection import confined, writable
from envbuilder.oci.runtime.unconfined import Unconfined
from tests.unit.image.running.test_runner import Telling


def test_foreign_code_runs_in_the_first_sandbox_that_works(tmp_path: Path) -> None:
    works = Telling()
    assert confined((Telling(trouble="no user namespaces"), works), Unconfined(work=tmp_path)) is works
    assert [task.uid for task in works.tasks] == [FOREIGN]


def test_without_a_sandbox_it_is_refused_with_the_option_that_allows_it() -> None:
    with pytest.raises(ToolMissing, match=r"(?s)runs only in a sandbox.*no user namespaces") as caught:
        confined((Telling(trouble="no user namespaces"),), None)
    assert "--engine docker" in caught.value.hint
    assert "--allow-host-builds" in caught.value.hint


def test_without_a_sandbox_it_runs_here_where_that_is_allowed(tmp_path: Path) -> None:
    here = Unconfined(work=tmp_path)
    assert confined((Telling(trouble="no user namespaces"),), here) is here


def test_what_needs_only_its_tree_goes_on_by_landlock_and_the_rest_is_refused(tmp_path: Path) -> None:
    weaker = Landlock(work=tmp_path / "work")
    chosen = confined((Telling(trouble="no user namespaces"),), None, weaker)
    assert chosen.name == "landlock"
    task = Task(tree=tmp_path, command=("/bin/true",), mounts=((str(tmp_path), "/mnt"),))
    with pytest.raises(ToolMissing, match="no user namespaces") as caught:
        chosen.run(task)
    assert "--allow-host-builds" in caught.value.hint


def test_what_landlock_cannot_run_is_run_as_the_caller_where_that_is_allowed(tmp_path: Path) -> None:
    here = Telling()
    chosen = confined((Telling(trouble="no user namespaces"),), here, Landlock(work=tmp_path / "work"))
    chosen.run(Task(tree=tmp_path, command=("/bin/true",), copy_out="/tmp/x"))
    assert [task.copy_out for task in here.tasks] == ["/tmp/x"]


class WithoutOverlays(Telling):
    """A sandbox on a kernel, or in a directory, without overlays."""

    def run(self, task: Task) -> RunResult:
        if task.changes:
            raise ToolFailed("the kernel refused: mount('overlay', '/x/opt'): Invalid argument")
        return super().run(task)


def test_a_followed_command_gets_the_first_sandbox_that_can_change_images(tmp_path: Path) -> None:
    works = Telling()
    assert writable((WithoutOverlays(), works), tmp_path) == (works, "")
    assert not list(tmp_path.iterdir())


def test_without_overlays_the_image_is_read_only_and_it_is_said_why(tmp_path: Path) -> None:
    first = WithoutOverlays()
    said = f"no overlay can be mounted in {tmp_path.parent} (Invalid argument)"
    assert writable((first, WithoutOverlays()), tmp_path) == (first, said)


def test_without_any_sandbox_a_followed_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="no user namespaces"):
        writable((Telling(trouble="no user namespaces"),), tmp_path)
