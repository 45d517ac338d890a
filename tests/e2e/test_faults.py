"""Builds that are killed, fed wrong files, or run out of room: nothing wrong is kept, and the next run finishes."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import pytest

from envbuilder.core.errors import DiskFull, SourceUnreachable, VerificationFailed
from envbuilder.lock.lockfile import load
from envbuilder.oci.store import Store
from tests.e2e import faulty_index, killed
from tests.e2e.conftest import Ended, Tool
from tests.e2e.faulty_index import Fault

ROW = "tf-2.15-cpu"
OWN = ("tabulate", "toolz")
"""No other test may install these: the seed must not have them."""

KILLS = 12
SEED = 20_240_601
SMALL = 300 << 20
LARGE = 2 << 30


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A lock of the row with own packages, and a cache folder that has the row but not those.

    Attributes:
        lock: The lock.
        identity: Its digest, as records of images name it.
        digest: Of the manifest of its image, as a build told it that nothing disturbed.
        seed: The cache folder; only to be copied.
        wheels: Own wheels by file name, and their metadata as `NAME.metadata`.
    """

    lock: Path
    identity: str
    digest: str
    seed: Path
    wheels: dict[str, bytes]


@pytest.fixture(scope="module")
def prepared(tool: Tool, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """The row assembled once, in a cache of its own: every test begins with a copy, and other tests leave much more."""
    folder = tmp_path_factory.mktemp("faults")
    seed = folder / "seed"
    done = tool("build", ROW, "--engine", "assemble", ENVBUILDER_CACHE=str(seed))
    assert done.status == 0, done.stderr
    other = _copied(seed, folder / "other")
    spec = f'environment: "{ROW}"\npackages: [{", ".join(OWN)}]\n'
    (folder / "envbuilder.yaml").write_text(spec, encoding="utf-8")
    locked = tool("lock", folder=folder, ENVBUILDER_CACHE=str(other))
    assert locked.status == 0, locked.stderr
    lock = folder / "envbuilder.lock"
    undisturbed = _build(tool, lock, other)
    digest = _digest(undisturbed)
    identity = str(undisturbed.document()["images"][0]["lock"])
    store = Store(folder=other / "store")
    pins = [pin for pin in load(lock.read_text(encoding="utf-8"), "lock").packages if pin.name in OWN]
    assert len(pins) == len(OWN)
    wheels: dict[str, bytes] = {}
    for pin in pins:
        assert not Store(folder=seed / "store").has(f"sha256:{pin.sha256}")
        path = store.path(f"sha256:{pin.sha256}")
        wheels[pin.file] = path.read_bytes()
        wheels[f"{pin.file}.metadata"] = faulty_index.metadata_of(path)
    return Prepared(lock=lock, identity=identity, digest=digest, seed=seed, wheels=wheels)


@pytest.fixture(scope="module")
def bundle(tool: Tool, prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Everything that the lock needs in one file."""
    file = tmp_path_factory.mktemp("bundle") / "image.bundle"
    done = tool("bundle", prepared.lock, "-o", file)
    assert done.status == 0, done.stderr
    yield file
    file.unlink()


def test_a_build_killed_at_any_change_leaves_nothing_wrong_and_the_next_one_finishes(
    tool: Tool, prepared: Prepared, tmp_path: Path
) -> None:
    moments = random.Random(SEED)  # noqa: S311  no secret
    with faulty_index.serve(prepared.wheels, faulty_index.good) as index:
        whole = _copied(prepared.seed, tmp_path / "whole")
        changes = _killed(tool, prepared.lock, whole, index.address, at=0)
        assert changes > 2 * KILLS
        assert _digest(_build(tool, prepared.lock, whole, "--index", index.address)) == prepared.digest

        for number in range(KILLS):
            cache = _copied(prepared.seed, tmp_path / f"killed-{number}")
            # Once in each part of the build. Threads may make a few changes less another time: the last may never come.
            last = changes * 9 // 10
            at = moments.randint(last * number // KILLS + 1, last * (number + 1) // KILLS)
            told = f"killed before change {at} of {changes}"
            assert _killed(tool, prepared.lock, cache, index.address, at=at, group=number % 2 == 0) == 0, told
            assert not _wrong_files(cache, only_new=True), told
            assert _tagged(tool, cache, prepared.identity) <= {prepared.digest}, told
            assert _digest(_build(tool, prepared.lock, cache, "--index", index.address)) == prepared.digest, told
            assert _tagged(tool, cache, prepared.identity) == {prepared.digest}, told
            shutil.rmtree(cache)
    # Copies share their files: a build that wrote into one of them would show here.
    assert not _wrong_files(prepared.seed)


def test_a_build_killed_in_the_middle_of_a_download_leaves_nothing_wrong_and_the_next_one_finishes(
    tool: Tool, prepared: Prepared, tmp_path: Path
) -> None:
    cache = _copied(prepared.seed, tmp_path / "cache")
    with faulty_index.serve(prepared.wheels, faulty_index.good, hold=True) as index:
        process = _started(tool, prepared.lock, cache, index.address)
        try:
            assert index.held.wait(600)
        finally:
            process.kill()
            index.go_on.set()
        assert process.wait(timeout=600) == -signal.SIGKILL
    assert not _wrong_files(cache, only_new=True)
    assert not _tagged(tool, cache, prepared.identity)
    with faulty_index.serve(prepared.wheels, faulty_index.good) as index:
        assert _digest(_build(tool, prepared.lock, cache, "--index", index.address)) == prepared.digest


@pytest.mark.parametrize(
    ("fault", "error"),
    [(faulty_index.corrupted, VerificationFailed), (faulty_index.truncated, SourceUnreachable)],
    ids=["corrupted", "truncated"],
)
def test_a_file_that_stays_wrong_ends_the_build_and_is_not_kept(
    tool: Tool, prepared: Prepared, tmp_path: Path, fault: Fault, error: type[VerificationFailed | SourceUnreachable]
) -> None:
    cache = _copied(prepared.seed, tmp_path / "cache")
    with faulty_index.serve(prepared.wheels, fault) as index:
        done = _build(tool, prepared.lock, cache, "--index", index.address)

    assert done.status == error.exit_code, done.stderr
    assert any(name in done.stderr for name in prepared.wheels)
    assert not _wrong_files(cache, only_new=True)
    assert not _tagged(tool, cache, prepared.identity)
    with faulty_index.serve(prepared.wheels, faulty_index.good) as index:
        assert _digest(_build(tool, prepared.lock, cache, "--index", index.address)) == prepared.digest


@pytest.mark.parametrize(
    "fault",
    [
        faulty_index.first(HTTPStatus.INTERNAL_SERVER_ERROR),
        faulty_index.first(HTTPStatus.TOO_MANY_REQUESTS),
        faulty_index.first_wrong(faulty_index.truncated),
        faulty_index.first_wrong(faulty_index.corrupted),
    ],
    ids=["500", "429", "truncated", "corrupted"],
)
def test_a_file_that_comes_right_the_second_time_makes_the_same_image(
    tool: Tool, prepared: Prepared, tmp_path: Path, fault: Fault
) -> None:
    cache = _copied(prepared.seed, tmp_path / "cache")
    with faulty_index.serve(prepared.wheels, fault) as index:
        done = _build(tool, prepared.lock, cache, "--index", index.address)

    assert _digest(done) == prepared.digest
    # Otherwise the fault was never met.
    assert index.asked == {name: 2 for name in prepared.wheels if name.endswith(".whl")}
    assert not _wrong_files(cache, only_new=True)


def test_a_full_disk_is_told_as_such_and_with_more_room_the_build_finishes(
    tool: Tool, prepared: Prepared, bundle: Path, tmp_path: Path
) -> None:
    with _disk(tmp_path, SMALL) as (place, image):
        full = _build(tool, None, place, "--bundle", str(bundle), "--offline")
        assert full.status == DiskFull.exit_code, full.stderr
        assert "no room left" in full.stderr
        assert not _wrong_files(place)
        assert not _tagged(tool, place)

        _enlarge(place, image, LARGE)
        assert _digest(_build(tool, None, place, "--bundle", str(bundle), "--offline")) == prepared.digest
        assert not _wrong_files(place)


def test_two_builds_at_once_on_one_empty_store_make_one_image(
    tool: Tool, prepared: Prepared, bundle: Path, tmp_path: Path
) -> None:
    command = [tool.program, "build", "--engine", "assemble", "--bundle", str(bundle), "--offline", "--json"]
    environ = {**tool.environ, "ENVBUILDER_CACHE": str(tmp_path / "cache")}
    both = [
        subprocess.Popen(command, env=environ, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in both:
        stdout, stderr = process.communicate(timeout=600)
        assert process.returncode == 0, stderr
        assert _digest(Ended(status=0, stdout=stdout, stderr=stderr)) == prepared.digest
    assert not _wrong_files(tmp_path / "cache")


def _copied(cache: Path, target: Path) -> Path:
    """A copy whose files are the same files, so that it costs nothing; a store never writes into a file that is done.

    Locks are left out: builds in two copies are not to wait for each other.
    """
    subprocess.run(["/bin/cp", "-al", str(cache), str(target)], check=True)
    for name in ("gate", "waiting", "parts"):
        place = target / "store" / name
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
    return target


def _build(tool: Tool, lock: Path | None, cache: Path, *options: str) -> Ended:
    target = [str(lock)] if lock else []
    return tool("build", *target, "--engine", "assemble", "--json", *options, ENVBUILDER_CACHE=str(cache))


def _digest(done: Ended) -> str:
    assert done.status == 0, done.stderr
    return str(done.document()["images"][0]["manifest"])


def _killed(tool: Tool, lock: Path, cache: Path, index: str, *, at: int, group: bool = False) -> int:
    """Build, and die right before a change of the store, with or without what was started.

    Returns:
        0 when it was killed; else the number of changes that it made.
    """
    count = cache.with_suffix(".changes")
    command = [
        sys.executable,
        killed.__file__,
        str(cache / "store"),
        str(at),
        "group" if group else "process",
        str(count),
    ]
    done = subprocess.run(
        [*command, "build", str(lock), "--engine", "assemble", "--index", index],
        env={**tool.environ, "ENVBUILDER_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=1200,
        start_new_session=True,
        check=False,
    )
    if done.returncode == -signal.SIGKILL:
        return 0
    assert done.returncode == 0, done.stderr
    return int(count.read_text("utf-8"))


def _started(tool: Tool, lock: Path, cache: Path, index: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [tool.program, "build", str(lock), "--engine", "assemble", "--index", index],
        env={**tool.environ, "ENVBUILDER_CACHE": str(cache)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _wrong_files(cache: Path, *, only_new: bool = False) -> list[Path]:
    """Files of the store whose content does not have the digest that is their name.

    Args:
        cache: A cache folder.
        only_new: Leave out those that are shared with the folder that it was copied from.
    """
    files = [path for path in (cache / "store").glob("sha256/*/*") if not only_new or path.stat().st_nlink == 1]
    wrong = []
    for path in files:
        with path.open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != path.parent.name + path.name:
                wrong.append(path)
    return wrong


def _tagged(tool: Tool, cache: Path, lock: str = "") -> set[str]:
    """Digests of manifests that `cache list` shows for a lock, or for any."""
    done = tool("cache", "list", "--json", ENVBUILDER_CACHE=str(cache))
    assert done.status == 0, done.stderr
    return {image["manifest"] for image in done.document()["images"] if lock in {"", image["lock"]}}


@contextmanager
def _disk(folder: Path, size: int) -> Iterator[tuple[Path, Path]]:
    """A file system of its own; gives its folder and the file that it lies in."""
    image, place = folder / "disk.img", folder / "disk"
    place.mkdir()
    with image.open("wb") as stream:
        stream.truncate(size)
    _run("/sbin/mkfs.ext4", "-q", "-m", "0", str(image))
    _run("/bin/mount", "-o", "loop", str(image), str(place))
    try:
        yield place, image
    finally:
        _run("/bin/umount", str(place))
        image.unlink()


def _enlarge(place: Path, image: Path, size: int) -> None:
    """Give the file system more room; not while it is mounted, which containers may not."""
    _run("/bin/umount", str(place))
    try:
        os.truncate(image, size)
        _run("/sbin/e2fsck", "-f", "-p", str(image))
        _run("/sbin/resize2fs", str(image))
    finally:
        _run("/bin/mount", "-o", "loop", str(image), str(place))


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout
