"""Whether an image is what its lock says, and which files differ when it is not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import UsageError
from envbuilder.diagnostics.verify import LayerDifference, Subject, Verification, verify
from envbuilder.lock.lock import Lock
from envbuilder.oci.images import AssembledImage, Descriptor, ImagePin, LayerFormat
from envbuilder.oci.store import Store
from tests.fakes.catalogs import good_lock
from tests.unit.oci.layout.images import Members, file, image

ONE: Members = [file("a", b"1"), file("b", b"2")]
TWO: Members = [file("c", b"3")]
OTHER = "sha256:" + "ab" * 32


def lock_of(made: AssembledImage) -> Lock:
    pin = ImagePin(
        format=LayerFormat.GZIP_SPLICED,
        layers=made.layers,
        config=made.config.descriptor.digest,
        manifest=made.manifest.descriptor.digest,
    )
    return replace(good_lock(), image=pin)


def subject_of(made: AssembledImage, store: Store) -> Subject:
    def fetch(number: int, target: Path) -> None:
        shutil.copyfile(store.path(made.layers[number].blob.digest), target)

    return Subject(
        name="somewhere",
        manifest=made.manifest.descriptor.digest,
        config=made.config.descriptor.digest,
        layers=tuple(layer.blob for layer in made.layers),
        diff_ids=tuple(layer.diff_id for layer in made.layers),
        fetch=fetch,
    )


def never() -> Callable[[str], Path]:
    raise AssertionError


def verified(lock: Lock, subject: Subject, store: Store) -> Verification:
    work = store.folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    found = verify(lock, subject, lambda: store.path, work)
    assert not list(work.iterdir())
    return found


def test_the_same_image_is_the_same_without_a_look_inside(store: Store, tmp_path: Path) -> None:
    made = image(store, ONE, TWO)
    found = verify(lock_of(made), subject_of(made, store), never, tmp_path)
    assert (found.same, found.proof, found.differences) == (True, "manifest", ())


def test_where_no_manifest_is_known_the_configuration_decides(store: Store, tmp_path: Path) -> None:
    made = image(store, ONE, TWO)
    subject = replace(subject_of(made, store), manifest="", layers=(), fetch=None)
    assert verify(lock_of(made), subject, never, tmp_path).same
    other = verify(lock_of(made), replace(subject, config=OTHER), never, tmp_path)
    assert (other.same, other.differences) == (False, ())
    assert other.proof.startswith("configuration")


def test_a_layer_that_differs_is_named_with_its_files(store: Store) -> None:
    wanted = image(store, ONE, TWO)
    there = image(store, [file("a", b"changed"), file("new", b""), file("b", b"2", mode=0o600)], TWO)
    found = verified(lock_of(wanted), subject_of(there, store), store)
    assert not found.same
    [difference] = found.differences
    assert difference.layer == "layer-0"
    assert difference.problem == (
        f"its tar has the digest {there.layers[0].diff_id} instead of {wanted.layers[0].diff_id}"
    )
    assert len(difference.files) == 3
    assert difference.files[0] == "/a has another content"
    assert difference.files[1].startswith("/b mode ")
    assert difference.files[2] == "/new is not expected"


def test_a_long_list_of_files_is_cut(store: Store) -> None:
    wanted, there = image(store, []), image(store, [file(f"f{number:02}") for number in range(25)])
    [difference] = verified(lock_of(wanted), subject_of(there, store), store).differences
    assert len(difference.files) == 21
    assert difference.files[-1] == "and 5 more"


def test_without_a_way_to_fetch_the_layer_alone_is_named(store: Store, tmp_path: Path) -> None:
    wanted, there = image(store, ONE), image(store, TWO)
    subject = replace(subject_of(there, store), fetch=None)
    [difference] = verify(lock_of(wanted), subject, never, tmp_path).differences
    assert (difference.layer, difference.files) == ("layer-0", ())


def test_a_missing_layer_is_named(store: Store) -> None:
    found = verified(lock_of(image(store, ONE, TWO)), subject_of(image(store, ONE), store), store)
    assert found.differences == (LayerDifference(layer="layer-1", problem="is missing"),)


def test_a_layer_too_many_is_named_by_its_number(store: Store) -> None:
    found = verified(lock_of(image(store, ONE)), subject_of(image(store, ONE, TWO), store), store)
    assert found.differences == (LayerDifference(layer="2", problem="is not expected"),)


def test_the_same_files_packed_differently_are_told_apart(store: Store) -> None:
    made = image(store, ONE)
    [layer] = made.layers
    packed = Descriptor(media_type=layer.blob.media_type, digest=OTHER, size=1)
    subject = replace(subject_of(made, store), manifest=OTHER, layers=(packed,))
    [difference] = verified(lock_of(made), subject, store).differences
    assert difference == LayerDifference(layer="layer-0", problem="has the same files with a different compression")


def test_a_lock_that_names_no_image_cannot_be_compared(store: Store, tmp_path: Path) -> None:
    made = image(store, ONE)
    with pytest.raises(UsageError, match="does not contain the digest") as caught:
        verify(replace(good_lock(), image=None), subject_of(made, store), never, tmp_path)
    assert "envbuilder lock" in caught.value.hint
