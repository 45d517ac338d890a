"""Tools, interpreter archives and own files of locks are found by hash, and said to be missing by name."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder import __version__
from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.image.base.file_store import FileStore
from envbuilder.image.pinned_files import PinnedFiles, keep_own_files
from envbuilder.lock.lock import Lock, OwnFile, ToolName, ToolPin
from envbuilder.oci.store import Store
from tests.fakes.catalogs import good_lock

TOOLS: dict[str, bytes] = {ToolName.PROBE: b"probe", ToolName.HOOK: b"hook"}


@pytest.fixture
def files(tmp_path: Path) -> PinnedFiles:
    return PinnedFiles(
        store=Store(folder=tmp_path / "store"), files=FileStore(folder=tmp_path / "files"), own_tools=TOOLS
    )


def with_tool(name: str, content: bytes) -> Lock:
    pin = ToolPin(name=name, version="0.0.9", sha256=hashlib.sha256(content).hexdigest())
    return replace(good_lock(), tools=(pin,))


def test_the_tools_of_this_version_are_pinned_and_found(files: PinnedFiles) -> None:
    pins = files.own_pins()
    assert [(pin.name, pin.version) for pin in pins] == [("memory-hook", __version__), ("probe", __version__)]
    for pin in pins:
        found = files.find(pin.sha256)
        assert found is not None
        assert found.read_bytes() == TOOLS[pin.name]
    assert files.tool(replace(good_lock(), tools=pins), ToolName.PROBE) == b"probe"


def test_a_tool_of_another_version_is_taken_from_the_store(files: PinnedFiles) -> None:
    lock = with_tool(ToolName.PROBE, b"older probe")
    with pytest.raises(SourceUnreachable, match=r"the probe of envbuilder 0\.0\.9 .* is not on") as refused:
        files.tool(lock, ToolName.PROBE)
    assert "--bundle FILE" in refused.value.hint
    files.store.put(b"older probe")
    assert files.tool(lock, ToolName.PROBE) == b"older probe"


def test_a_lock_without_a_tool_gets_none(files: PinnedFiles) -> None:
    assert files.tool(replace(good_lock(), tools=()), ToolName.HOOK) == b""


def test_an_archive_is_found_among_the_files_and_in_the_store(files: PinnedFiles, tmp_path: Path) -> None:
    path = tmp_path / "cpython-3.8.18-x86_64-linux-gnu.tar.gz"
    for content, put in ((b"one", files.files.add), (b"two", files.store.take)):
        path.write_bytes(content)
        lock = replace(good_lock(), python=replace(good_lock().python, sha256=hashlib.sha256(content).hexdigest()))
        with pytest.raises(SourceUnreachable, match=path.name):
            files.archive(lock)
        put(path)
        assert files.archive(lock).read_bytes() == content


def test_a_missing_archive_is_fetched_and_counts_if_it_has_the_hash_of_the_lock(
    files: PinnedFiles, tmp_path: Path
) -> None:
    path = tmp_path / "cpython-3.8.18-x86_64-linux-gnu.tar.gz"
    lock = replace(good_lock(), python=replace(good_lock().python, sha256=hashlib.sha256(b"right").hexdigest()))
    asked: list[str] = []

    def fetch(wanted: Lock) -> None:
        asked.append(wanted.python.sha256)
        files.files.add(path)

    fetching = replace(files, fetch=fetch)
    path.write_bytes(b"another build of this version")
    with pytest.raises(SourceUnreachable, match="is not on this machine"):
        fetching.archive(lock)
    path.write_bytes(b"right")
    assert [fetching.archive(lock).read_bytes() for _ in range(2)] == [b"right", b"right"]
    assert asked == [lock.python.sha256] * 2


def test_an_unknown_hash_is_not_found(files: PinnedFiles) -> None:
    assert files.find("0" * 64) is None


def test_own_files_are_kept_unless_they_changed(tmp_path: Path) -> None:
    store, source = Store(folder=tmp_path / "store"), tmp_path / "train.py"
    source.write_bytes(b"train")
    file = OwnFile(path="/app/train.py", sha256=hashlib.sha256(b"train").hexdigest(), size=5, source=str(source))
    keep_own_files([file], store)
    assert store.read(f"sha256:{file.sha256}") == b"train"
    source.write_bytes(b"other")
    keep_own_files([file], store)
    with pytest.raises(VerificationFailed):
        keep_own_files([replace(file, sha256="0" * 64)], store)
