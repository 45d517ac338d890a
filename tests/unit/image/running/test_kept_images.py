"""Changes that an engine keeps: as an image of its own, for one image, by one run at a time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from envbuilder.core.errors import EngineError, UsageError
from envbuilder.image.builds import ImageInfo
from envbuilder.image.running.changes import kept_in, place_for_changes, remove_kept
from envbuilder.image.running.kept_images import KeptImages, container_of
from envbuilder.oci.runtime.command import RunRequest

ORIGINAL = ImageInfo(
    id="sha256:1",
    diff_ids=("a", "b"),
    labels=(),
    size=100,
    env=(("A", "1"), ("PATH", "/bin")),
    user="app",
    folder="/w",
)
REQUEST = RunRequest(image="tf:1", command=("true",), keep="mine")


@dataclass
class ToyEngine:
    """Images by name; a container is the request that it was started with."""

    images: dict[str, ImageInfo] = field(default_factory=lambda: {"tf:1": ORIGINAL})
    containers: dict[str, RunRequest] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)
    writes: int = 10
    asked: list[RunRequest] = field(default_factory=list)

    def described(self, image: str) -> ImageInfo | None:
        return self.images.get(image)

    def is_running(self, container: str) -> bool | None:
        return container in self.running if container in self.containers else None

    def save(self, container: str, image: str, hidden: Sequence[str]) -> None:
        request = self.containers.pop(container)
        if self.writes:
            below = self.images[request.image]
            env = {**dict(below.env), **dict(request.env), **dict.fromkeys(hidden, "")}
            size, layers = below.size + self.writes, (*below.diff_ids, "c")
            self.images[image] = replace(
                below, id=f"{below.id}+", env=tuple(env.items()), user=request.user, size=size, diff_ids=layers
            )

    def forget(self, container: str, image: str) -> None:
        self.containers.pop(container, None)
        self.images.pop(image, None)

    def start(self, request: RunRequest, name: str, _: Path) -> int:
        self.asked.append(request)
        self.containers[name] = request
        return 7

    def killed(self, request: RunRequest, name: str, _: Path) -> int:
        """Start a container, and lose everything that should happen afterwards."""
        self.containers[name] = request
        raise KilledError


class KilledError(BaseException):
    """The end of this program."""


@pytest.fixture
def room(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def follow(engine: ToyEngine, room: Path, request: RunRequest = REQUEST, most: int = 9) -> int:
    return KeptImages(engine="toy", most_layers=most, room=lambda: room).follow(engine, request, engine.start)


def test_the_next_run_starts_from_the_changes_with_the_settings_of_the_image(room: Path) -> None:
    engine = ToyEngine()
    given = (("A", "2"), ("TOKEN", "secret"))
    assert follow(engine, room, replace(REQUEST, env=given, user="0", folder="/x")) == 7
    assert follow(engine, room) == 7
    (kept,) = kept_in(room)
    first, second = engine.asked
    assert (first.image, first.env, first.user, first.folder) == ("tf:1", given, "0", "/x")
    assert (second.image, second.user, second.folder) == (kept.reference, "app", "/w")
    assert (second.env, second.unset) == ((("A", "1"),), ("TOKEN",))
    assert "secret" not in dict(engine.images[kept.reference].env).values()
    assert (kept.engine, kept.image, kept.bytes) == ("toy", "tf:1", 20)
    assert kept.used > kept.bytes
    assert not engine.containers


def test_a_run_without_changes_keeps_nothing(room: Path) -> None:
    engine = ToyEngine(writes=0)
    assert follow(engine, room) == 7
    assert not list(room.iterdir())
    assert set(engine.images) == {"tf:1"}


def test_changes_of_an_interrupted_run_are_kept(room: Path) -> None:
    engine = ToyEngine()
    with pytest.raises(KilledError):
        KeptImages(engine="toy", most_layers=9, room=lambda: room).follow(engine, REQUEST, engine.killed)
    (kept,) = kept_in(room)
    assert len(engine.images[kept.reference].diff_ids) == 3


def test_a_container_that_outlived_its_run_is_refused_while_it_runs_and_kept_when_it_has_ended(room: Path) -> None:
    engine = ToyEngine()
    follow(engine, room)
    (kept,) = kept_in(room)
    container = container_of(kept)
    engine.containers[container] = replace(REQUEST, image=kept.reference, user="0")
    engine.running.add(container)
    with pytest.raises(UsageError, match=f"still running, in the container {container}") as refusal:
        follow(engine, room)
    assert f"toy stop {container}" in refusal.value.hint
    engine.running.clear()
    engine.asked.clear()
    follow(engine, room)
    assert len(engine.images[kept.reference].diff_ids) == 5


def test_a_directory_is_refused_with_what_to_use(room: Path) -> None:
    with pytest.raises(UsageError, match="under a name, not in the directory /data"):
        follow(ToyEngine(), room, replace(REQUEST, keep="/data"))
    assert not room.exists()


def test_an_image_that_is_not_there_leaves_nothing(room: Path) -> None:
    with pytest.raises(EngineError, match="image not found: tf:2"):
        follow(ToyEngine(), room, replace(REQUEST, image="tf:2"))
    assert not room.exists()


def test_a_rebuilt_image_and_another_engine_are_refused(room: Path) -> None:
    engine = ToyEngine()
    follow(engine, room)
    engine.images["tf:1"] = replace(ORIGINAL, id="sha256:2")
    with pytest.raises(UsageError, match=r"changes of another image, tf:1 \(sha256:1\)") as refusal:
        follow(engine, room)
    assert "envbuilder cache remove mine" in refusal.value.hint
    other = KeptImages(engine="other", most_layers=9, room=lambda: room)
    with pytest.raises(UsageError, match="has changes of tf:1 in toy, which other cannot use"):
        other.follow(engine, REQUEST, engine.start)
    with (
        pytest.raises(UsageError, match="in toy, which kernel namespaces cannot use"),
        place_for_changes(room, room / "mine", image="tf:1", digest="sha256:2"),
    ):
        pass
    assert kept_in(room)


def test_changes_that_were_removed_from_the_engine_are_missed(room: Path) -> None:
    engine = ToyEngine()
    follow(engine, room)
    (kept,) = kept_in(room)
    del engine.images[kept.reference]
    with pytest.raises(EngineError, match=f"toy has no image {kept.reference}") as missing:
        follow(engine, room)
    assert "envbuilder cache remove mine" in missing.value.hint


def test_the_limit_of_the_engine_is_told_before_a_run_is_lost(room: Path) -> None:
    engine = ToyEngine()
    follow(engine, room, most=3)
    follow(engine, room, most=3)
    with pytest.raises(UsageError, match="changes of too many runs"):
        follow(engine, room, most=3)
    assert len(engine.asked) == 2


def test_removing_a_name_removes_the_image_of_the_engine_first(room: Path) -> None:
    engine = ToyEngine()
    follow(engine, room)
    (kept,) = kept_in(room)

    def unavailable(_: object) -> None:
        raise EngineError("no engine answers")

    with pytest.raises(EngineError):
        remove_kept(room, "mine", unavailable)
    assert json.loads((room / "mine/image.json").read_text())["reference"] == kept.reference
    remove_kept(room, "mine", lambda found: engine.forget(container_of(found), found.reference))
    assert set(engine.images) == {"tf:1"}
    assert not (room / "mine").exists()


def test_names_of_two_users_of_an_engine_do_not_meet(room: Path, tmp_path: Path) -> None:
    engine = ToyEngine()
    follow(engine, room)
    follow(engine, tmp_path / "other")
    assert len({kept.reference for place in (room, tmp_path / "other") for kept in kept_in(place)}) == 2
