"""The root for one run, before anything is mounted."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.core.errors import UsageError
from envbuilder.oci.runtime.root_mounts import make_skeleton, resolved
from envbuilder.oci.runtime.sandbox import Task


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("usr/bin", "etc", "tmp"):
        (tmp_path / "tree" / name).mkdir(parents=True)
    (tmp_path / "tree/usr/bin/x").write_text("x")
    (tmp_path / "tree/etc/known").write_text("k")
    (tmp_path / "tree/tmp/old").write_text("o")
    (tmp_path / "tree/bin").symlink_to("usr/bin")
    return tmp_path / "tree"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def held(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_the_parts_of_the_tree_are_mounted_whole(tree: Path, work: Path) -> None:
    made = make_skeleton(Task(tree=tree, command=("x",)), work)
    assert held(made.root) == ["bin", "dev", "etc", "proc", "run", "sys", "tmp", "usr"]
    assert [(bind.source, bind.target) for bind in made.parts] == [(tree / "etc", "/etc"), (tree / "usr", "/usr")]
    assert (made.root / "bin").readlink() == Path("usr/bin")
    assert made.empty == ("/tmp", "/run")
    assert made.binds == ()


def test_a_folder_is_taken_apart_only_where_a_mount_point_is_missing(tree: Path, work: Path) -> None:
    files = (("/etc/new", b"1"), ("/etc/known", b"2"), ("/deep/er/file", b"3"), ("/tmp/file", b"4"))
    made = make_skeleton(Task(tree=tree, command=("x",), files=files), work)
    assert [bind.target for bind in made.parts] == ["/usr", "/etc/known"]
    assert (made.root / "etc/new").is_file()
    assert (made.root / "deep/er/file").is_file()
    assert not (made.root / "tmp/file").exists()
    assert [bind.target for bind in made.binds] == ["/etc/new", "/etc/known", "/deep/er/file", "/tmp/file"]
    assert [bind.source.read_bytes() for bind in made.binds] == [b"1", b"2", b"3", b"4"]
    assert held(tree) == ["bin", "etc", "etc/known", "tmp", "tmp/old", "usr", "usr/bin", "usr/bin/x"]


def test_a_task_with_a_network_finds_its_own_name(tree: Path, work: Path) -> None:
    made = make_skeleton(Task(tree=tree, command=("x",), host_network=True), work)
    [hosts] = [bind for bind in made.binds if bind.target == "/etc/hosts"]
    assert hosts.source.read_text().endswith("\n127.0.0.1 envbuilder\n")
    assert not hosts.writable


def test_hosts_that_a_task_names_stay_as_they_are(tree: Path, work: Path) -> None:
    task = Task(tree=tree, command=("x",), host_network=True, files=(("/etc/hosts", b"own"),))
    assert [each.source.read_bytes() for each in make_skeleton(task, work).binds if each.target == "/etc/hosts"] == [
        b"own"
    ]


def test_a_mount_point_that_the_tree_has_leaves_its_folder_whole(tree: Path, work: Path) -> None:
    made = make_skeleton(Task(tree=tree, command=("x",), files=(("/bin/x", b"1"),)), work)
    assert [bind.target for bind in made.parts] == ["/etc", "/usr"]
    assert [bind.target for bind in made.binds] == ["/usr/bin/x"]


@pytest.mark.parametrize(
    ("path", "folder", "empty"),
    [("/tmp/a/b", "kept", ("/run",)), ("/run/a", "kept", ("/tmp",)), ("/etc/known", "tree", ("/tmp", "/run"))],
)
def test_what_is_given_back_lies_on_this_host(
    path: str, folder: str, empty: tuple[str, ...], tree: Path, work: Path
) -> None:
    made = make_skeleton(Task(tree=tree, command=("x",), copy_out=path), work)
    assert made.copied is not None
    assert made.copied[0].name == folder
    assert made.empty == empty


def test_a_file_of_the_task_can_be_given_back(tree: Path, work: Path) -> None:
    task = Task(tree=tree, command=("x",), files=(("/tmp/a", b"1"), ("/tmp/b", b"2")), copy_out="/tmp/b")
    made = make_skeleton(task, work)
    assert made.copied is not None
    assert made.copied[0].joinpath(made.copied[1]).read_bytes() == b"2"


def test_a_source_that_is_not_there_is_refused(tree: Path, work: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        make_skeleton(Task(tree=tree, command=("x",), mounts=(("/no/such/thing", "/mnt/x"),)), work)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/bin/x", "/usr/bin/x"),
        ("/a/../b/./c//d/", "/b/c/d"),
        ("/../../etc/known", "/etc/known"),
        ("/out/etc/passwd", "/etc/passwd"),
        ("/", "/"),
    ],
)
def test_links_are_followed_within_the_tree(path: str, found: str, tree: Path) -> None:
    (tree / "out").symlink_to("/../../../")
    assert resolved(tree, path) == found


@pytest.mark.parametrize("path", ["relative", "", "/round/x"])
def test_a_path_that_leads_nowhere_is_refused(path: str, tree: Path) -> None:
    (tree / "round").symlink_to("/round")
    with pytest.raises(UsageError):
        resolved(tree, path)
