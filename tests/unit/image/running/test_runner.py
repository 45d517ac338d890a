"""Running in images of a store, over a sandbox that only says what it was asked."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from envbuilder.core.errors import EngineError, ToolFailed, ToolMissing, UsageError
from envbuilder.image.running.changes import kept_in
from envbuilder.image.running.host_gpus import HostGpus
from envbuilder.image.running.image_runner import ImageRunner
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.runtime.command import Caller, Console, RunRequest, RunResult
from envbuilder.oci.runtime.runc import not_started
from envbuilder.oci.runtime.sandbox import Task
from envbuilder.oci.runtime.selection import first_working
from envbuilder.oci.store import Store
from tests.fakes.following import following
from tests.unit.oci.layout.images import image


@dataclass
class Telling:
    """A sandbox that tells what it was asked."""

    name: str = "telling"
    version: str = "1"
    status: int = 127
    trouble: str = ""
    tasks: list[Task] = field(default_factory=list)

    def run(self, task: Task) -> RunResult:
        self.tasks.append(task)
        if self.trouble:
            raise ToolFailed(self.trouble)
        return RunResult(status=self.status, stdout=b"", stderr=b"said", timed_out=False)


@dataclass
class Unpacking:
    """Unpacks slowly, and counts."""

    count: int = 0

    def __call__(self, _made: AssembledImage, _store: Store, folder: Path) -> None:
        self.count += 1
        part = folder.with_name(f".{folder.name}.x.part")
        (part / "etc").mkdir(parents=True)
        (part / "etc/passwd").write_text("me:x:1000:100::/home/me:/bin/sh\n")
        time.sleep(0.05)
        part.rename(folder)


CONFIG = {"Env": ["PATH=/opt", "A=1"], "WorkingDir": "/work", "User": "me", "Labels": {"l": "v"}, "Cmd": ["sh"]}


def runner(store: Store, sandbox: Telling, unpack: Unpacking) -> ImageRunner:
    known = {"tf:1": image(store, config=CONFIG)}
    return ImageRunner(
        sandbox=lambda: sandbox,
        lookup=known.get,
        unpack=unpack,
        store=store,
        trees=store.folder.parent / "trees",
        following=following(store.folder.parent, sandbox),
        gpus=HostGpus(root=store.folder.parent / "root", search_path=""),
        progress=print,
    )


def test_what_the_request_leaves_open_the_image_says(store: Store) -> None:
    sandbox = Telling()
    runner(store, sandbox, Unpacking()).run(RunRequest(image="tf:1", command=("x",), env=(("A", "2"),)))
    task = sandbox.tasks[0]
    assert task.env == (("A", "2"), ("HOME", "/home/me"), ("PATH", "/opt"))
    assert (task.uid, task.gid, task.asked, task.folder) == (1000, 100, False, "/work")
    assert task.command == ("x",)
    assert not task.host_network


def test_what_the_request_says_counts(store: Store) -> None:
    sandbox = Telling()
    request = RunRequest(
        image="tf:1", command=(), user="0", network="host", files=(("/a", b"1"),), timeout=3, copy_out="/tmp/x"
    )
    runner(store, sandbox, Unpacking()).run(request)
    task = sandbox.tasks[0]
    assert (task.uid, task.asked, task.host_network) == (0, True, True)
    assert (task.files, task.timeout, task.copy_out) == (request.files, 3, "/tmp/x")
    assert task.command == ("sh",)


def test_gpus_are_refused_with_what_to_do(store: Store) -> None:
    with pytest.raises(UsageError) as caught:
        runner(store, Telling(), Unpacking()).run(RunRequest(image="tf:1", command=("x",), gpus=True))
    assert "--engine docker" in caught.value.hint
    assert "nvidia-ctk cdi generate" in caught.value.hint


def test_an_image_that_is_not_there_is_an_engine_error(store: Store) -> None:
    known = runner(store, Telling(), Unpacking())
    assert known.image("no:1") is None
    with pytest.raises(EngineError):
        known.run(RunRequest(image="no:1", command=("x",)))


def test_an_image_is_described_without_unpacking_it(store: Store) -> None:
    unpack = Unpacking()
    known = runner(store, Telling(), unpack)
    found = known.image("tf:1")
    assert found is not None
    assert found.label("l") == "v"
    assert known.info().name == "telling"
    assert not known.info().gpus
    assert unpack.count == 0


def test_an_image_is_unpacked_once_however_many_ask(store: Store) -> None:
    unpack, sandbox = Unpacking(), Telling()
    known = runner(store, sandbox, unpack)
    known.trees.mkdir()
    made = known.lookup("tf:1")
    assert made is not None
    left = known.trees / f".{made.manifest.descriptor.digest[7:]}.killed.part"
    left.mkdir()
    threads = [threading.Thread(target=known.run, args=(RunRequest(image="tf:1", command=("x",)),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert unpack.count == 1
    assert len({task.tree for task in sandbox.tasks}) == 1
    assert not left.exists()


def unpacked(known: ImageRunner) -> Path:
    made = known.lookup("tf:1")
    assert made is not None
    return known.tree(made)


def test_a_tree_that_was_changed_is_unpacked_again_and_never_used(store: Store) -> None:
    unpack, said = Unpacking(), list[str]()
    known = replace(runner(store, Telling(), unpack), progress=said.append)
    tree = unpacked(known)
    assert (unpacked(known), unpack.count, said) == (tree, 1, [])
    (tree / "etc/passwd").write_text("me:x:0:0::/home/me:/bin/sh\n")
    (tree / "etc/evil").write_text("")
    sandbox = Telling()
    replace(known, sandbox=lambda: sandbox).run(RunRequest(image="tf:1", command=("x",)))
    assert (unpack.count, sandbox.tasks[0].uid, (tree / "etc/evil").exists()) == (2, 1000, False)
    assert said == [f"{tree} differs from the image: unpacking it again"]


def test_a_link_in_the_place_of_a_tree_is_removed_and_not_followed(store: Store, tmp_path: Path) -> None:
    unpack = Unpacking()
    known = runner(store, Telling(), unpack)
    tree = unpacked(known)
    tree.rename(tmp_path / "elsewhere")
    tree.symlink_to(tmp_path / "elsewhere")
    assert not unpacked(known).is_symlink()
    assert unpack.count == 2
    assert (tmp_path / "elsewhere" / "etc/passwd").exists()


def test_the_first_way_that_works_is_taken() -> None:
    ways = [Telling(name="a", trouble="not allowed"), Telling(name="b"), Telling(name="c")]
    assert first_working(ways).name == "b"
    assert ways[2].tasks == []


def test_no_way_at_all_is_said_with_all_reasons() -> None:
    ways = [Telling(name="a", trouble="not allowed"), Telling(name="b", status=1)]
    with pytest.raises(ToolMissing, match=r"a: not allowed\n  b: a trial exited with status 1: said") as caught:
        first_working(ways)
    assert "apt-get install runc" in caught.value.hint


@pytest.mark.parametrize(
    ("complaint", "status"),
    [
        ('exec: "x": executable file not found in $PATH', 127),
        ('exec: "/x": stat /x: no such file or directory', 127),
        ('exec: "/etc": permission denied', 126),
        ("exec /x: exec format error", 126),
    ],
)
def test_what_runc_says_about_a_command_is_a_result(complaint: str, status: int) -> None:
    assert not_started(complaint).status == status


def test_what_runc_says_about_itself_is_an_error() -> None:
    with pytest.raises(ToolFailed, match="cgroups"):
        not_started("cannot set up cgroups")


CALLER = Caller(uid=1234, gid=1234, name="ada")


def follow(store: Store, request: RunRequest, *, read_only: str = "", console: Console | None = None) -> Task:
    """Follow a command; return the task that the sandbox received, with the files that it had at that time."""
    sandbox = Telling(status=3)
    known = runner(store, sandbox, Unpacking())
    known = replace(known, following=following(store.folder.parent, sandbox, read_only=read_only))
    assert known.follow(request, console or Console(output=lambda *_: None)) == 3
    return sandbox.tasks[0]


def test_a_command_that_is_only_run_cannot_change_the_image(store: Store) -> None:
    """What validate and builds do; a request that asks for changes gets none either."""
    sandbox = Telling()
    request = RunRequest(image="tf:1", command=("x",), writable=True, caller=CALLER)
    runner(store, sandbox, Unpacking()).run(request)
    task = sandbox.tasks[0]
    assert task.changes is None
    assert not task.host_network
    given = (task.console, task.has_terminal, task.ports, task.devices, task.files)
    assert given == (None, False, (), (), ())


def test_a_followed_command_can_change_the_image_if_it_is_asked_for(store: Store) -> None:
    assert follow(store, RunRequest(image="tf:1", command=("x",), writable=True)).changes
    assert follow(store, RunRequest(image="tf:1", command=("x",))).changes is None


def test_the_streams_of_a_followed_command_are_those_of_the_console(store: Store) -> None:
    console = Console(output=print, given=7, terminal=True)
    task = follow(store, RunRequest(image="tf:1", command=("x",)), console=console)
    assert (task.console, task.has_terminal) == (console, True)


def test_a_caller_has_a_name_and_a_home_that_the_image_lacks(store: Store) -> None:
    task = follow(store, RunRequest(image="tf:1", command=("x",), writable=True, caller=CALLER))
    assert (task.uid, task.gid, task.asked) == (1234, 1234, False)
    assert dict(task.env)["HOME"] == "/home/ada"
    assert b"ada:x:1234:1234::/home/ada:/bin/sh" in dict(task.files)["/etc/passwd"]
    assert [target for _, target in task.shared] == ["/home/ada"]


def test_a_user_that_is_only_a_number_gets_a_home_too(store: Store) -> None:
    task = follow(store, RunRequest(image="tf:1", command=("x",), writable=True, user="4321:5"))
    assert (task.uid, task.gid, task.asked) == (4321, 5, True)
    assert dict(task.env)["HOME"] == "/home/user-4321"


def test_a_read_only_image_has_a_writable_home_and_cannot_keep_changes(store: Store) -> None:
    task = follow(store, RunRequest(image="tf:1", command=("x",), writable=True), read_only="no overlay")
    assert task.changes is None
    assert [target for _, target in task.shared] == ["/home/me"]
    with pytest.raises(UsageError, match=r"changes of the image cannot be kept in .*/kept/mine: no overlay"):
        follow(store, RunRequest(image="tf:1", command=("x",), writable=True, keep="mine"), read_only="no overlay")


def test_kept_changes_lie_below_the_cache_or_in_a_directory(store: Store, tmp_path: Path) -> None:
    for keep, place in (("mine", store.folder.parent / "kept/mine"), (str(tmp_path / "d"), tmp_path / "d")):
        task = follow(store, RunRequest(image="tf:1", command=("x",), writable=True, keep=keep))
        assert task.changes == place
        assert kept_in(place.parent)


def test_the_list_of_users_is_that_of_kept_changes(store: Store) -> None:
    """A package that was installed in an earlier run may have added users."""
    kept = store.folder.parent / "kept/mine/upper/etc"
    follow(store, RunRequest(image="tf:1", command=("x",), writable=True, keep="mine"))
    kept.mkdir(parents=True)
    (kept / "passwd").write_text("daemon:x:1:1::/:/bin/false\n")
    task = follow(store, RunRequest(image="tf:1", command=("x",), writable=True, keep="mine", caller=CALLER))
    assert dict(task.files)["/etc/passwd"].startswith(b"daemon:x:1:1::/:/bin/false\nada:x:1234:")


@pytest.mark.parametrize("followed", [False, True])
def test_gpus_of_a_specification_reach_the_command(store: Store, followed: bool) -> None:
    """The nodes are harmless ones: no GPU is needed to give one away."""
    place = store.folder.parent / "root/etc/cdi/nvidia.yaml"
    place.parent.mkdir(parents=True, exist_ok=True)
    node = store.folder.parent / "root/dev/null"
    node.parent.mkdir()
    node.touch()
    place.write_text(
        "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: all\n  containerEdits:\n"
        "    env: [A=spec, B=spec]\n    deviceNodes:\n    - path: /dev/nvidia0\n      hostPath: /dev/null\n"
    )
    request = RunRequest(image="tf:1", command=("x",), gpus=True, env=(("B", "mine"),))
    sandbox = Telling()
    known = runner(store, sandbox, Unpacking())
    assert known.info().gpus
    if followed:
        known.follow(request, Console(output=print))
    else:
        known.run(request)
    task = sandbox.tasks[0]
    assert task.devices == ((str(node), "/dev/nvidia0"),)
    assert (dict(task.env)["A"], dict(task.env)["B"]) == ("spec", "mine")
