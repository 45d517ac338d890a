"""What ENV|LOCK on a command line means."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.core.errors import InvalidInput, UnknownEnvironment, UsageError
from envbuilder.lock.lockfile import dump, replaced_lock
from envbuilder.lock.prioritized_files import dump_prioritized, load_prioritized
from envbuilder.lock.spec import Spec
from envbuilder.lock.targets import LockTarget, load_spec, target
from tests.fakes.catalogs import good_lock, small_catalog

SPEC = 'environment: "tf-2.4-cuda11.0"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text, encoding="utf-8")
    return path


def meant(name: str | None) -> LockTarget | Spec:
    return target(small_catalog(), name)


def lock_meant(name: str | None) -> LockTarget:
    found = meant(name)
    assert isinstance(found, LockTarget)
    return found


def test_an_id_is_a_row(folder: Path) -> None:
    assert folder
    found = meant("tf-2.15-cpu")
    assert isinstance(found, Spec)
    assert found.environment == "tf-2.15-cpu"


def test_nothing_is_the_lock_in_this_folder_with_the_spec_beside_it(folder: Path) -> None:
    put(folder / "envbuilder.lock", dump(good_lock()))
    assert lock_meant(None).spec is None
    put(folder / "envbuilder.yaml", SPEC)
    found = lock_meant(None)
    assert found.lock == good_lock()
    assert found.spec is not None


def test_a_file_or_its_folder_is_a_lock(folder: Path) -> None:
    path = put(folder / "out" / "envbuilder.lock", dump(good_lock()))
    assert lock_meant(str(path)).path == path
    assert lock_meant("out").path == Path("out/envbuilder.lock")


def test_a_lock_of_another_name_has_no_spec_beside_it(folder: Path) -> None:
    put(folder / "envbuilder.yaml", SPEC)
    put(folder / "old.lock", dump(good_lock()))
    assert lock_meant("old.lock").spec is None


@pytest.mark.parametrize("name", ["gone.lock", "./gone", "out/envbuilder.lock"])
def test_a_path_that_is_not_there_is_no_environment(folder: Path, name: str) -> None:
    assert folder
    with pytest.raises(UsageError, match="lock not found"):
        meant(name)


def test_nothing_in_an_empty_folder_says_what_to_do(folder: Path) -> None:
    with pytest.raises(UsageError) as caught:
        meant(None)
    assert "envbuilder list" in caught.value.hint
    put(folder / "envbuilder.yaml", SPEC)
    with pytest.raises(UsageError) as caught:
        meant(None)
    assert "envbuilder lock" in caught.value.hint


def test_another_name_is_an_unknown_environment(folder: Path) -> None:
    assert folder
    with pytest.raises(UnknownEnvironment):
        meant("tf-9")


def test_a_lock_that_is_refused_can_be_replaced_and_that_is_told(folder: Path) -> None:
    told = list[str]()
    path = put(folder / "envbuilder.lock", dump(good_lock()))
    assert replaced_lock(path, told.append) == good_lock()
    put(path, dump(good_lock()).replace("schema: 2", "schema: 1"))
    assert not told
    assert replaced_lock(path, told.append) is None
    assert told[0].startswith(f"replacing a lock that is refused: {path}:2: must be 2")
    assert replaced_lock(folder / "none.lock", told.append) is None


def test_a_file_that_is_no_lock_is_not_replaced(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="this is not a lock"):
        replaced_lock(put(folder / "notes.txt", "schema: 1\n"), lambda _said: None)


def test_a_file_that_is_no_lock_is_invalid_input(folder: Path) -> None:
    put(folder / "notes.txt", "hello")
    with pytest.raises(InvalidInput):
        meant("notes.txt")


LIST = "schema: 1\nlayers:\n  own: [/opt/venv/b.py, /opt/venv/a.py]\n  base: [/usr/lib/libc.so.6]\n"
LISTED = (("base", ("/usr/lib/libc.so.6",)), ("own", ("/opt/venv/a.py", "/opt/venv/b.py")))


def test_the_list_of_files_that_are_fetched_first_is_read_beside_the_spec(folder: Path) -> None:
    put(folder / "project" / "lists" / "reads.yaml", LIST)
    path = put(folder / "project" / "envbuilder.yaml", f"{SPEC}prioritized_files: lists/reads.yaml\n")
    assert load_spec(path, small_catalog()).prioritized == LISTED
    assert load_prioritized(dump_prioritized(LISTED), "x") == LISTED


def test_the_list_of_the_last_spec_counts_beside_the_spec_that_names_it(folder: Path) -> None:
    put(folder / ".git" / "HEAD", "")
    put(folder / "team" / "reads.yaml", LIST)
    put(folder / "team" / "general.yaml", f"{SPEC}prioritized_files: reads.yaml\n")
    path = put(folder / "own" / "envbuilder.yaml", "extends: ../team/general.yaml\n")
    assert load_spec(path, small_catalog()).prioritized == LISTED
    put(folder / "own" / "reads.yaml", "schema: 1\nlayers: {}\n")
    put(path, "extends: ../team/general.yaml\nprioritized_files: reads.yaml\n")
    assert load_spec(path, small_catalog()).prioritized == ()


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("missing.yaml", "file not found"),
        ("../outside.yaml", "outside the directory of the spec"),
        ("/etc/passwd", "outside the directory of the spec"),
        ("link.yaml", "outside the directory of the spec"),
    ],
)
def test_a_list_that_cannot_be_read_is_a_fault_of_the_spec(folder: Path, named: str, said: str) -> None:
    put(folder / "outside.yaml", LIST)
    path = put(folder / "project" / "envbuilder.yaml", f"{SPEC}prioritized_files: {named}\n")
    (folder / "project" / "link.yaml").symlink_to("../outside.yaml")
    with pytest.raises(InvalidInput) as caught:
        load_spec(path, small_catalog())
    [fault] = caught.value.faults
    assert said in fault.problem
    assert (fault.field, fault.line) == ("prioritized_files", 2)


@pytest.mark.parametrize("layers", ["a: [relative]", "a: [/x/../y]", "a: [/x/.wh.y]", '"no layer": [/x]', "a: /x"])
def test_a_list_with_a_wrong_path_or_layer_is_refused(layers: str) -> None:
    with pytest.raises(InvalidInput):
        load_prioritized(f"schema: 1\nlayers: {{{layers}}}\n", "reads.yaml")


def test_directories_of_publishers_are_relative_to_the_spec(folder: Path) -> None:
    text = SPEC + 'sources:\n  publishers:\n    "*": "usb"\n    nvidia-developer: "https://site.example/"\n'
    spec = load_spec(put(folder / "project" / "envbuilder.yaml", text), small_catalog())
    assert dict(spec.sources.publishers) == {
        "*": str(folder / "project" / "usb"),
        "nvidia-developer": "https://site.example/",
    }
