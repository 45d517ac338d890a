"""Changes of images: discarded, kept for one image, and removed by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.core.cache_directories import KEPT
from envbuilder.core.errors import UsageError
from envbuilder.image.running.changes import KeptChanges, kept_in, place_for_changes, remove_kept


def keep(folder: Path, digest: str = "sha256:1", *, made: str = "made") -> None:
    with place_for_changes(folder.parent / "work", folder, image="tf:1", digest=digest) as place:
        (place / made).touch()


def no_engine(changes: KeptChanges) -> None:
    raise AssertionError(changes)


def test_changes_are_discarded_unless_they_are_kept(tmp_path: Path) -> None:
    with place_for_changes(tmp_path / "work", None, image="tf:1", digest="sha256:1") as place:
        (place / "made").touch()
    assert not place.exists()


def test_kept_changes_are_there_in_the_next_run_of_the_same_image(tmp_path: Path) -> None:
    keep(tmp_path / "mine")
    with place_for_changes(tmp_path, tmp_path / "mine", image="tf:1", digest="sha256:1") as place:
        assert (place / "made").exists()


@pytest.mark.parametrize("named", [True, False])
def test_changes_of_another_image_are_refused_with_how_to_remove_them(tmp_path: Path, named: bool) -> None:
    folder = tmp_path / (KEPT if named else "elsewhere") / "mine"
    keep(folder)
    with pytest.raises(UsageError, match=r"changes of another image, tf:1 \(sha256:1\)") as refusal:
        keep(folder, "sha256:2")
    assert ("envbuilder cache remove mine" if named else f"rm -r {folder}") in refusal.value.hint


def test_a_directory_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match="has files that are not changes of an image"):
        keep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"thesis.tex"}


def test_two_runs_cannot_use_the_same_changes(tmp_path: Path) -> None:
    with place_for_changes(tmp_path, tmp_path / "mine", image="tf:1", digest="sha256:1"):
        with pytest.raises(UsageError, match="is in use by another run"):
            keep(tmp_path / "mine")
        with pytest.raises(UsageError, match="is in use by another run"):
            remove_kept(tmp_path, "mine", no_engine)


def test_kept_changes_are_listed_and_removed_by_name(tmp_path: Path) -> None:
    for name in ("b", "a"):
        keep(tmp_path / name)
    (tmp_path / "damaged").mkdir()
    assert [(each.folder.name, each.image, each.digest) for each in kept_in(tmp_path)] == [
        ("a", "tf:1", "sha256:1"),
        ("b", "tf:1", "sha256:1"),
    ]
    assert remove_kept(tmp_path, "a", no_engine) > 0
    assert not (tmp_path / "a").exists()
    with pytest.raises(UsageError, match="no changes are kept as a; kept: b"):
        remove_kept(tmp_path, "a", no_engine)


def test_a_refused_command_leaves_no_new_directory(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="refused"),
        place_for_changes(tmp_path, tmp_path / "mine", image="tf:1", digest="sha256:1"),
    ):
        raise UsageError("refused")
    assert not (tmp_path / "mine").exists()
    keep(tmp_path / "mine")
    with (
        pytest.raises(UsageError, match="refused"),
        place_for_changes(tmp_path, tmp_path / "mine", image="tf:1", digest="sha256:1"),
    ):
        raise UsageError("refused")
    assert (tmp_path / "mine" / "made").exists()
