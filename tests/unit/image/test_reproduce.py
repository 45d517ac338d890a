"""Two builds of a lock begin with its files alone, and what differs is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import BuildFailed
from envbuilder.image.reproduce import ODD, PLAIN, BuildAttempt, Surroundings, differences, reproduce
from envbuilder.lock.lockfile import load
from envbuilder.oci.images import ImagePin, LayerFormat
from envbuilder.oci.store import Store
from tests.fakes.catalogs import good_lock

IMAGE = ImagePin(
    format=LayerFormat.GZIP_SPLICED,
    manifest=f"sha256:{'1' * 64}",
    config=f"sha256:{'2' * 64}",
    layers=(),
)
LOCK = replace(good_lock(), image=IMAGE)


def attempt(*layers: tuple[str, str], surroundings: Surroundings = PLAIN) -> BuildAttempt:
    return BuildAttempt(surroundings=surroundings, manifest="m", layers=layers, seconds=1.0)


def test_equal_attempts_do_not_differ() -> None:
    assert differences([attempt(("base", "1"), ("own", "2"))] * 3) == ()
    assert differences([]) == ()


def test_layers_that_differ_between_any_two_are_named_lowest_first() -> None:
    attempts = [
        attempt(("base", "1"), ("own", "2"), ("image", "3")),
        attempt(("base", "1"), ("own", "2"), ("image", "3")),
        attempt(("base", "9"), ("own", "2"), ("image", "4")),
    ]
    assert differences(attempts) == ("base", "image")


def test_a_layer_that_one_attempt_lacks_differs() -> None:
    assert differences([attempt(("base", "1"), ("own", "2")), attempt(("base", "1"))]) == ("own",)


def test_the_surroundings_differ_in_everything() -> None:
    assert PLAIN.umask != ODD.umask
    assert PLAIN.jobs != ODD.jobs
    plain, odd = dict(PLAIN.environ), dict(ODD.environ)
    assert plain.keys() == odd.keys()
    assert all(plain[name] != odd[name] for name in plain)


def test_each_build_begins_with_the_files_of_the_lock_without_its_digests_and_nothing_else(tmp_path: Path) -> None:
    store = Store(folder=tmp_path / "store")
    wanted = {store.put(b"one"), store.put(b"two")}
    store.put(b"made before")
    seen: list[Path] = []

    def build(folder: Path, surroundings: Surroundings) -> BuildAttempt:
        seen.append(folder)
        assert load((folder / "envbuilder.lock").read_text(encoding="utf-8"), "lock") == replace(LOCK, image=None)
        cache = Store(folder=folder / "cache" / "store")
        assert {digest for digest, _, _ in cache.entries()} == wanted
        assert {cache.read(digest) for digest in wanted} == {b"one", b"two"}
        for digest in wanted:
            assert cache.path(digest).stat().st_mode & 0o777 == 0o444
            assert not cache.path(digest).samefile(store.path(digest))
        return attempt(surroundings=surroundings)

    attempts = reproduce(LOCK, (PLAIN, ODD), build, store=store, digests=[*wanted, *wanted], work=tmp_path / "work")
    assert [each.surroundings.name for each in attempts] == ["plain", "odd"]
    assert len(set(seen)) == 2
    assert not any(folder.exists() for folder in seen)


def test_a_build_that_fails_is_said(tmp_path: Path) -> None:
    def build(folder: Path, surroundings: Surroundings) -> BuildAttempt:
        raise BuildFailed("it broke", hint="mend it", step="own")

    store = Store(folder=tmp_path / "store")
    digest = store.put(b"one")
    with pytest.raises(BuildFailed, match="it broke"):
        reproduce(LOCK, (PLAIN,), build, store=store, digests=[digest], work=tmp_path / "work")
