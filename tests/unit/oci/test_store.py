"""The store never gives a wrong file, whoever is killed, however full the disk is, and however many write at once."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envbuilder.core.errors import DiskFull, VerificationFailed
from envbuilder.oci.store import Store, full_disk

CONTENT = bytes(range(256)) * 4000


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@given(st.binary())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
def test_what_is_put_in_comes_out_under_its_digest(store: Store, content: bytes) -> None:
    digest = store.put(content)
    assert digest == digest_of(content)
    assert Store(folder=store.folder).read(digest) == content


def test_a_cancelled_file_leaves_nothing(store: Store) -> None:
    def cancel() -> None:
        raise CancelledError

    with pytest.raises(CancelledError):
        replace(store, check=cancel).put(CONTENT)
    assert not any(store.entries())
    assert not any((store.folder / "parts").iterdir())


def test_a_file_is_taken_as_it_is(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(CONTENT)
    assert store.read(store.take(file)) == CONTENT
    assert file.read_bytes() == CONTENT


def test_a_damaged_file_is_found_once_and_gone(store: Store) -> None:
    digest = store.put(CONTENT)
    path = store.path(digest)
    path.chmod(0o644)
    path.write_bytes(CONTENT[:-1] + b"\0")
    with pytest.raises(VerificationFailed, match="was damaged"):
        Store(folder=store.folder).verified(digest)
    assert not store.has(digest)


@pytest.mark.parametrize(
    "name", ["", "0" * 64, "sha256:", "sha256:../../etc/passwd", "sha256:/etc/passwd", "sha512:" + "0" * 64]
)
def test_a_name_that_is_no_digest_never_becomes_a_path(store: Store, name: str) -> None:
    with pytest.raises(ValueError, match="is not a sha256 digest"):
        store.path(name)
    with pytest.raises(ValueError, match="is not a sha256 digest"), store.receiving(name):
        pass
    assert not list((store.folder / "parts").glob("*"))


def test_an_error_while_writing_leaves_nothing(store: Store) -> None:
    with pytest.raises(RuntimeError), store.writing() as writer:  # noqa: PT012  the block is what fails
        writer.write(b"half")
        raise RuntimeError
    with pytest.raises(VerificationFailed), store.writing(expected=digest_of(b"other")) as writer:
        writer.write(b"this")
    assert not list(store.entries())
    assert not list((store.folder / "parts").iterdir())


def test_a_download_goes_on_where_it_ended(store: Store) -> None:
    digest = digest_of(CONTENT)
    with pytest.raises(ConnectionError), store.receiving(digest) as receiver:  # noqa: PT012  the block is what fails
        assert receiver is not None
        receiver.write(CONTENT[:1000])
        raise ConnectionError
    with store.receiving(digest) as receiver:
        assert receiver is not None
        assert receiver.size == 1000
        receiver.write(CONTENT[1000:])
    assert store.read(digest) == CONTENT
    with store.receiving(digest) as receiver:
        assert receiver is None


def test_what_was_downloaded_is_counted_once(store: Store) -> None:
    digest = digest_of(CONTENT)
    with pytest.raises(ConnectionError), store.receiving(digest) as receiver:  # noqa: PT012  the block is what fails
        assert receiver is not None
        receiver.write(CONTENT[:1000])
        raise ConnectionError
    store.put(b"made here")
    assert (store.received.take(), store.received.take()) == (1000, 0)
    with store.receiving(digest) as receiver:
        assert receiver is not None
        receiver.restart()
        receiver.write(CONTENT)
    assert replace(store, check=lambda: None).received.take() == len(CONTENT)


def test_a_wrong_beginning_is_thrown_away(store: Store) -> None:
    digest = digest_of(CONTENT)
    with pytest.raises(VerificationFailed), store.receiving(digest) as receiver:  # noqa: PT012  the block is what fails
        assert receiver is not None
        receiver.write(b"wrong")
    with store.receiving(digest) as receiver:
        assert receiver is not None
        assert receiver.size == 0
        receiver.write(b"again wrong")
        receiver.restart()
        receiver.write(CONTENT)
    assert store.read(digest) == CONTENT


def test_two_who_want_the_same_wait_for_each_other(store: Store) -> None:
    digest = digest_of(CONTENT)
    wrote: list[int] = []

    def fetch() -> None:
        with Store(folder=store.folder).receiving(digest) as receiver:
            if receiver:
                wrote.append(receiver.size)
                for start in range(0, len(CONTENT), 100_000):
                    receiver.write(CONTENT[start : start + 100_000])
                    time.sleep(0.001)

    threads = [threading.Thread(target=fetch) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrote == [0]
    assert store.read(digest) == CONTENT


def test_only_one_at_a_time(store: Store) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        with Store(folder=store.folder).only_one("layer-x"):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.002)
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1


WRITER = """
import sys, hashlib
from pathlib import Path
from envbuilder.oci.store import Store
store = Store(folder=Path(sys.argv[1]))
content = bytes(range(256)) * 40000
digest = "sha256:" + hashlib.sha256(content).hexdigest()
print("ready", flush=True)
while True:
    with store.receiving(digest) as receiver:
        if receiver:
            for start in range(receiver.size, len(content), 50_000):
                receiver.write(content[start : start + 50_000])
    with store.writing() as writer:
        for start in range(0, len(content), 50_000):
            writer.write(content[start : start + 50_000])
    store.remove(digest)
"""


def test_killed_at_random_moments_it_never_has_a_wrong_file(store: Store) -> None:
    chance = random.Random(4)  # noqa: S311  moments, not secrets
    for _ in range(8):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(store.folder)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.uniform(0, 0.06))
            process.send_signal(signal.SIGKILL)
        for digest, _, _ in store.entries():
            Store(folder=store.folder).verified(digest)
    content = bytes(range(256)) * 40000
    with store.receiving(digest_of(content)) as receiver:
        if receiver:
            receiver.write(content[receiver.size :])
    assert store.read(digest_of(content)) == content
    store.sweep()
    assert not list((store.folder / "parts").iterdir())


def test_sweeping_leaves_those_alone_who_still_write(store: Store) -> None:
    with store.writing() as writer:
        writer.write(b"being written")
        store.sweep()
        writer.write(b", still")
    assert store.read(digest_of(b"being written, still")) == b"being written, still"


def test_removing_frees_what_nobody_else_has(store: Store, tmp_path: Path) -> None:
    digest = store.put(b"12345")
    os.link(store.path(digest), tmp_path / "elsewhere")
    assert store.remove(digest) == 0
    assert store.remove(digest) == 0
    assert store.remove(store.put(b"12345")) == 5
    assert not store.has(digest)


def test_a_full_disk_is_said_as_such(tmp_path: Path) -> None:
    with pytest.raises(DiskFull) as caught, full_disk(tmp_path / "x"):
        raise OSError(28, "No space left on device")
    assert "cache prune" in caught.value.hint
    with pytest.raises(OSError, match="other"), full_disk(tmp_path / "x"):
        raise OSError(5, "other")
