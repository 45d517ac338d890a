"""The cache belongs to this account, others cannot write to it, and what killed commands left in it goes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuilder.core.cache_directories import ROOMS, STORE, check_owner, room_of, use_room
from envbuilder.core.errors import UsageError

SOMEBODY = 54_321
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache with all its directories."""
    made = tmp_path / "cache"
    for name in (STORE, *(room.name for room in ROOMS)):
        room_of(made, name)
    (made / STORE / "targets").mkdir()
    return made


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("no_umask")
def test_new_directories_are_closed_to_others_whatever_the_umask_is(tmp_path: Path) -> None:
    place, handle = use_room(tmp_path / "above" / "cache", "work")
    assert handle is not None
    os.close(handle)
    made = [place, place.parent, place.parent / ".in-use", place.parent.parent]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 4
    assert (place.parent / ".in-use" / "work").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["", "trees", "store", "store/targets", "work", ".in-use"])
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o707])
def test_a_directory_that_others_can_write_to_is_refused(cache: Path, name: str, mode: int) -> None:
    (cache / name).mkdir(exist_ok=True)
    check_owner(cache)
    (cache / name).chmod(mode)
    with pytest.raises(UsageError, match=f"is writable by other users .mode {mode:04o}.") as caught:
        use_room(cache, "files")
    assert caught.value.message.startswith(f"the cache directory {cache / name} ")
    expected = "export ENVBUILDER_CACHE=DIR" if mode & 0o1000 else f"chmod -R go-w {cache / name}`"
    assert expected in caught.value.hint


def test_a_cache_that_others_can_only_read_is_used(cache: Path) -> None:
    for path in (cache, *cache.rglob("*")):
        path.chmod(0o755)
    check_owner(cache)


@as_root
def test_a_group_of_others_cannot_write_to_the_cache(cache: Path) -> None:
    os.chown(cache / "trees", -1, SOMEBODY)
    (cache / "trees").chmod(0o770)
    with pytest.raises(UsageError, match="mode 0770"):
        check_owner(cache)


@pytest.mark.parametrize("name", ["", "trees", "store/targets"])
def test_a_directory_of_somebody_else_is_refused(cache: Path, name: str) -> None:
    user = os.geteuid() or SOMEBODY
    for path in (cache, *cache.rglob("*")):
        if os.geteuid() == 0:
            os.chown(path, SOMEBODY, -1)
    check_owner(cache, user)
    with pytest.raises(UsageError, match=r"belongs to .*, who could change the programs") as caught:
        check_owner(cache, user + 1)
    assert str(cache) in caught.value.message
    assert "export ENVBUILDER_CACHE=DIR" in caught.value.hint
    if os.geteuid() == 0:
        os.chown(cache, 0, 0)
        os.chown(cache / name, SOMEBODY, -1)
        with pytest.raises(UsageError, match="belongs to"):
            use_room(cache, "files")


@as_root
def test_a_link_of_somebody_else_is_refused(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (cache / "trees").rmdir()
    (cache / "trees").symlink_to(tmp_path / "elsewhere")
    check_owner(cache)
    os.chown(cache / "trees", SOMEBODY, -1, follow_symlinks=False)
    with pytest.raises(UsageError, match="trees belongs to"):
        check_owner(cache)


@as_root
def test_a_cache_of_root_may_be_read_by_others(cache: Path) -> None:
    check_owner(cache, SOMEBODY)


def test_a_cache_that_cannot_be_made_says_how_to_name_another(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be used") as caught:
        use_room(tmp_path / "file" / "cache", "work")
    assert "export ENVBUILDER_CACHE=DIR" in caught.value.hint


LEFT = ("run-abcd_123", "assemble-00000000", "build-tf-2.15-cpu-abcdefgh")


def test_what_killed_commands_left_is_removed_by_the_next_one(cache: Path) -> None:
    for name in (*LEFT, "notes"):
        (cache / "work" / name).mkdir()
    (cache / "bases" / ".making-abcdefgh" / "x").mkdir(parents=True)
    (cache / "bases" / "debian-bookworm").mkdir()
    handles = [use_room(cache, name)[1] for name in ("work", "bases")]
    assert [path.name for path in (cache / "work").iterdir()] == ["notes"]
    assert [path.name for path in (cache / "bases").iterdir()] == ["debian-bookworm"]
    for handle in handles:
        assert handle is not None
        os.close(handle)


def test_what_a_running_command_uses_is_left_alone(cache: Path) -> None:
    _, first = use_room(cache, "work")
    (cache / "work" / LEFT[0]).mkdir()
    _, second = use_room(cache, "work")
    assert (cache / "work" / LEFT[0]).is_dir()
    assert first is not None
    assert second is not None
    os.close(first)
    _, third = use_room(cache, "work")
    assert (cache / "work" / LEFT[0]).is_dir()
    assert third is not None
    os.close(second)
    os.close(third)
