"""Whatever became of a cache: each use of it gives a value or our error, and nothing outside is read into or changed.

Never damage a cache with an unpacked image of others here: its absolute links lead to this machine.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from types import FrameType

import pytest

from envbuilder.cli.system_errors import of_the_system
from envbuilder.core.cache_directories import ROOMS, use_room
from envbuilder.core.errors import EnvbuilderError
from envbuilder.core.tree_manifests import holds, manifest_of
from envbuilder.image.base.file_store import FileStore
from envbuilder.image.base.tree_store import TreeStore
from envbuilder.image.layers.layer_writer import Packed
from envbuilder.image.layers.records import KeptImage, LayerRecord, Records
from envbuilder.oci.store import Store
from tests.unit.cli.running import CommandLine
from tests.unit.image.test_verify_cache import LOCK, World

_SECONDS = 300
_PART = "0b" * 32
Damage = Callable[[Path], object]


class Endless(BaseException):
    """A use of the cache waits for ever; nothing catches this."""


@pytest.fixture(autouse=True)
def deadline() -> Iterator[None]:
    """End a test that waits for a pipe, a device or a lock."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise Endless

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A cache with one of everything, which is only copied."""
    world = World(tmp_path_factory.mktemp("world"))
    for room in ROOMS:
        _, handle = use_room(world.cache, room.name)
        assert handle is not None
        os.close(handle)
    world.records.keep_push("registry.example/a")
    with world.store.used(), world.store.only_one(f"target-{world.target.name}"):
        (world.store.folder / "parts" / _PART).write_bytes(b"part")
    return world


def files_of(world: World) -> list[Path]:
    """Return the files that decide something, below the cache."""
    store = world.store.folder
    paths = [
        world.blob,
        *(manifest_of(tree) for tree in (world.tree, world.target)),
        *(tree / "usr/bin/true" for tree in (world.tree, world.target)),
        *store.glob("layers/*"),
        *store.glob("images/*"),
        *store.glob("waiting/*"),
        *store.glob("parts/*"),
        *(store / name for name in ("gate", "pushed.json")),
        *world.base.parent.iterdir(),
        world.archive,
        world.cache / ".in-use" / "trees",
    ]
    return [path.relative_to(world.cache) for path in paths]


DIRECTORIES = {
    "innermost": (
        "store/sha256/*", "store/layers", "store/images", "store/parts", "store/waiting", "store/targets/[!.]*",
        "trees/[!.]*", "files/*", "bases/*", ".in-use",
    ),
    "those above": ("store/sha256", "store/targets", "trees", "files", "bases"),
    "the store": ("store",),
}  # fmt: skip


def gone(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def written(content: Callable[[bytes], bytes]) -> Damage:
    def damage(path: Path) -> None:
        path.chmod(0o644)
        path.write_bytes(content(path.read_bytes()))

    return damage


def replaced(make: Damage) -> Damage:
    def damage(path: Path) -> None:
        gone(path)
        make(path)

    return damage


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made, chdir(path.parent):  # a name of more than 108 bytes is refused
        made.bind(path.name)


def outside(path: Path) -> Path:
    """Return the directory beside the cache that nothing may change."""
    return next(parent.parent for parent in path.parents if parent.name == "cache") / "outside"


def linked(path: Path, elsewhere: Path) -> None:
    """Give a file of others a second name in the cache, each time another one."""
    path.hardlink_to(next(each for each in sorted(elsewhere.glob("many/*")) if each.stat().st_nlink == 1))


def given_away(path: Path) -> None:
    path.symlink_to(outside(path))
    os.chown(path, 12345, 12345, follow_symlinks=False)


def filled(path: Path) -> None:
    path.mkdir()
    (path / "x").write_bytes(b"x")


OF_FILES: dict[str, Damage] = {
    "missing": gone,
    "empty": written(lambda _: b""),
    "truncated": written(lambda content: content[: len(content) // 2]),
    "extended": written(lambda content: content + b"x"),
    "flipped": written(lambda content: bytes([(content or b"a")[0] ^ 1]) + content[1:]),
    "NUL": written(lambda _: b'{"name":"\\u0000","id":"\0"}'),
    "half a character": written(lambda _: b'{"name":"\\ud800","lock":"\\udfff"}'),
    "no text": written(lambda _: b"\xff\xfe" * 200),
    "deep": written(lambda _: b"[" * 200_000),
    "a number without end": written(lambda _: b'{"size":' + b"9" * 6000 + b"}"),
    "a list": written(lambda _: b"[]"),
    "nothing": written(lambda _: b"null"),
    "wrong types": written(
        lambda _: b'{"name":[],"lock":{},"manifest":3,"config":null,"layers":"x","attached":7,"key":1,"sha256":[]}'
    ),
    "writable by others": lambda path: path.chmod(0o777),
    "with rights of another account": lambda path: path.chmod(0o4755),
    "of the future": lambda path: os.utime(path, (2**33, 2**33)),
    "link to a file": replaced(lambda path: path.symlink_to(outside(path) / "file")),
    "link to a directory": replaced(lambda path: path.symlink_to(outside(path))),
    "link to nothing": replaced(lambda path: path.symlink_to(outside(path) / "new")),
    "link to itself": replaced(lambda path: path.symlink_to(path.name)),
    "link to a device": replaced(lambda path: path.symlink_to("/dev/zero")),
    "pipe": replaced(os.mkfifo),
    "socket": replaced(listening),
    "hard link": replaced(lambda path: linked(path, outside(path))),
    "directory": replaced(Path.mkdir),
    "full directory": replaced(filled),
}
OF_DIRECTORIES: dict[str, Damage] = {
    "missing": gone,
    "writable by others": lambda path: path.chmod(0o777),
    "file": replaced(lambda path: path.write_bytes(b"x")),
    "pipe": replaced(os.mkfifo),
    "link to a directory": replaced(lambda path: path.symlink_to(outside(path))),
    "link to nothing": replaced(lambda path: path.symlink_to(outside(path) / "new")),
    "link to itself": replaced(lambda path: path.symlink_to(path.name)),
    "with a pipe": lambda path: os.mkfifo(path / "extra"),
    "with a link": lambda path: (path / "extra").symlink_to(outside(path)),
    "with a name that is no text": lambda path: Path(os.fsdecode(os.fsencode(path) + b"/\xff\n\x1b[31m")).touch(),
}
if os.geteuid() == 0:
    OF_FILES["device"] = replaced(lambda path: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5)))
    OF_FILES["of somebody else"] = lambda path: os.chown(path, 12345, 12345)
    OF_DIRECTORIES["of somebody else"] = lambda path: os.chown(path, 12345, 12345)
    OF_DIRECTORIES["link of somebody else"] = replaced(given_away)


def uses(world: World, cache: Path) -> Iterator[Callable[[], object]]:
    """Yield what builds, runs and validations ask of a cache."""
    store = Store(folder=cache / "store")
    records, bases = Records(store=store), TreeStore(cache / "bases")
    blob = world.layer.blob
    packed = Packed(digest=blob.digest, size=blob.size, diff_id=world.layer.diff_id)

    def received(digest: str) -> None:
        with store.receiving(digest) as receiver:
            if receiver:
                receiver.write(b"not the content")

    def waited() -> None:
        with store.used(), store.only_one(f"target-{world.target.name}"), store.shared("image"):
            store.is_held("image")

    yield lambda: [use_room(cache, room.name) for room in ROOMS]
    yield lambda: records.layer(world.layer.key)
    yield lambda: list(records.images())
    yield lambda: store.has(blob.digest) and store.verified(blob.digest)
    yield lambda: bases.current(world.base.parent.name)
    yield lambda: [bases.get(tree.id, tree.digest) for tree in bases.all()]
    yield lambda: FileStore(folder=cache / "files").find(world.archive.parent.name)
    yield lambda: [holds(cache / tree.relative_to(world.cache)) for tree in (world.tree, world.target)]
    yield waited
    yield lambda: received(blob.digest)
    yield lambda: received(f"sha256:{_PART}")
    yield lambda: records.keep_layer(world.layer.key, LayerRecord(packed=packed))
    yield lambda: records.keep_image(KeptImage(name="env:1", image=world.image, lock=LOCK))
    yield lambda: records.keep_push("registry.example/b")


def is_told(use: Callable[[], object]) -> bool:
    """Use a cache; return True if it gives a value, or an error that the command line tells as one of ours."""
    try:
        use()
    except EnvbuilderError as error:
        return error.exit_code != EnvbuilderError.exit_code
    except OSError as error:
        return of_the_system(error) is not None
    return True


def state_of(place: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return owner, mode and content of what was there before."""
    kept = (place, place / "file", place / "kept.json", place / "kept" / "x.tar", *sorted(place.glob("many/*")))
    return {
        str(path): (status.st_uid, status.st_mode, path.read_bytes() if path.is_file() else b"")
        for path in kept
        if (status := path.lstat())
    }


def try_everything(envbuilder: CommandLine, whole: World, paths: list[Path], damage: Damage) -> None:
    """Damage copies of a cache, use them, and let them be verified, mended and pruned."""
    elsewhere = envbuilder.folder / "outside"
    for name in ("kept", "many"):
        (elsewhere / name).mkdir(parents=True)
    for name in ("file", "kept.json", "kept/x.tar", *(f"many/{number:02}" for number in range(40))):
        (elsewhere / name).write_bytes(b"of others")
    before = state_of(elsewhere)
    cache = envbuilder.folder / "cache"
    for mending in (False, True):
        shutil.copytree(whole.cache, cache, symlinks=True)
        for path in paths:
            damage(cache / path)
        if mending:
            statuses = [envbuilder("cache", *words).status for words in (["list"], ["verify"], ["verify", "--remove"])]
            assert set(statuses) <= {0, 1, 2}
            # What belongs to others, or is none of ours, is refused as a whole and left alone.
            assert envbuilder("cache", "verify").status in ({0} if statuses[2] == 0 else {1, 2})
            assert envbuilder("cache", "prune", "--all").status in {0, 2}
        else:
            assert all(is_told(use) for use in uses(whole, cache))
        gone(cache)
    assert state_of(elsewhere) == before


@pytest.mark.parametrize("kind", OF_FILES)
def test_a_damaged_file_of_the_cache_is_an_error_or_mended(envbuilder: CommandLine, whole: World, kind: str) -> None:
    try_everything(envbuilder, whole, files_of(whole), OF_FILES[kind])


@pytest.mark.parametrize("places", DIRECTORIES)
@pytest.mark.parametrize("kind", OF_DIRECTORIES)
def test_a_damaged_directory_of_the_cache_is_an_error_or_mended(
    envbuilder: CommandLine, whole: World, kind: str, places: str
) -> None:
    paths = [path.relative_to(whole.cache) for place in DIRECTORIES[places] for path in whole.cache.glob(place)]
    try_everything(envbuilder, whole, paths, OF_DIRECTORIES[kind])
