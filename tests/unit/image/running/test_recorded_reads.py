"""Files that a command opened, as the list of those that are fetched first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from envbuilder.core.errors import UsageError
from envbuilder.image.layers.estargz import LARGEST_CHUNK
from envbuilder.image.running.host_gpus import HostGpus
from envbuilder.image.running.image_runner import ImageRunner
from envbuilder.image.running.recorded_reads import RecordingRunner, prioritized
from envbuilder.lock.prioritized_files import load_prioritized
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.merge import merged
from envbuilder.oci.layout.rootfs import unpack
from envbuilder.oci.runtime.command import Console, RunRequest, RunResult
from envbuilder.oci.runtime.sandbox import Task
from envbuilder.oci.store import Store
from tests.fakes.following import following
from tests.unit.oci.layout.images import Members, file, folder, hardlink, image, symlink

LAYERS: dict[str, Members] = {
    "base.0": [folder("usr"), file("usr/of-a-registry", b"x")],
    "base": [folder("etc"), file("etc/passwd", b"root:x:0:0::/:/bin/sh\n"), file("etc/replaced", b"old")],
    "interpreter": [folder("opt"), file("opt/python", b"x")],
    "bytecode.tensorflow-cpu": [folder("opt"), file("opt/x.pyc", b"x")],
    "framework.tensorflow-cpu": [
        *(folder("opt"), file("opt/b.so", b"x"), file("opt/a.so", b"x"), file("opt/void", b"")),
        *(file("opt/largest.so", bytes(LARGEST_CHUNK)), file("opt/larger.so", bytes(LARGEST_CHUNK + 1))),
        *(symlink("opt/link", "a.so"), hardlink("opt/second", "opt/a.so")),
    ],
    "own": [folder("etc"), file("etc/replaced", b"new"), file("etc/odd\n", b"x")],
}
EVERYTHING = {f"/{name}" for members in LAYERS.values() for name in (each[0].name for each in members)}


def made(store: Store) -> AssembledImage:
    found = image(store, *LAYERS.values(), config={"Cmd": ["sh"]})
    named = zip(found.layers, LAYERS, strict=True)
    return replace(found, layers=tuple(replace(layer, id=name) for layer, name in named))


def test_small_files_are_listed_by_the_layer_that_the_image_has_them_from(store: Store) -> None:
    tree = merged(made(store), store)
    assert prioritized({*EVERYTHING, "/etc/made-by-the-command"}, tree) == (
        ("base", ("/etc/passwd",)),
        ("framework.tensorflow-cpu", ("/opt/a.so", "/opt/b.so", "/opt/largest.so", "/opt/second")),
        ("own", ("/etc/replaced",)),
    )
    assert prioritized({"/opt/b.so"}, tree) == (("framework.tensorflow-cpu", ("/opt/b.so",)),)


@dataclass
class Opening:
    """A sandbox whose command opens files, if somebody wants to know it."""

    opens: tuple[str, ...]
    name: str = "opening"
    version: str = "1"
    tasks: list[Task] = field(default_factory=list)

    def run(self, task: Task) -> RunResult:
        self.tasks.append(task)
        for path in self.opens if task.opened else ():
            assert task.opened
            task.opened(path)
        return RunResult(status=7, stdout=b"", stderr=b"", timed_out=False)


def recording(
    store: Store, sandbox: Opening, *, read_only: str = "", said: Callable[[str], None] = print
) -> RecordingRunner:
    place = store.folder.parent
    found = made(store)
    runner = ImageRunner(
        sandbox=lambda: sandbox,
        lookup={"tf:1": found}.get,
        unpack=unpack,
        store=store,
        trees=place / "trees",
        following=following(place, sandbox, read_only=read_only),
        gpus=HostGpus(root=place / "root", search_path=""),
        progress=print,
    )
    return RecordingRunner(runner=runner, file=place / "reads.yaml", progress=said)


REQUEST = RunRequest(image="tf:1", command=("x",), writable=True)


def test_a_followed_command_writes_the_same_list_in_whatever_order_it_opens_files(store: Store) -> None:
    said = list[str]()
    texts = set[str]()
    place = store.folder.parent / "reads.yaml"
    for opens in (("/opt/b.so", "/opt/a.so", "/opt/a.so"), ("/opt/a.so", "/opt/b.so")):
        runner = recording(store, Opening(opens), said=said.append)
        assert runner.follow(REQUEST, Console(output=lambda _number, _piece: None)) == 7
        texts.add(place.read_text())
    [text] = texts
    assert load_prioritized(text, "x") == (("framework.tensorflow-cpu", ("/opt/a.so", "/opt/b.so")),)
    assert said[0] == f"wrote 2 files of 1 layers to {place}, for `prioritized_files:` of a spec"


def test_looking_into_the_image_is_not_recorded(store: Store) -> None:
    sandbox = Opening(("/opt/a.so",))
    runner = recording(store, sandbox)
    runner.run(REQUEST)
    found = runner.image("tf:1")
    assert found is not None
    assert runner.info().name == "opening"
    assert [task.opened for task in sandbox.tasks] == [None]
    assert not runner.file.exists()


def test_an_image_that_cannot_be_changed_cannot_be_watched(store: Store, tmp_path: Path) -> None:
    runner = recording(store, Opening(("/opt/a.so",)), read_only="no overlay can be mounted")
    with pytest.raises(UsageError, match="cannot be watched: no overlay can be mounted"):
        runner.follow(REQUEST, Console(output=lambda _number, _piece: None))
    assert not (tmp_path / "reads.yaml").exists()
