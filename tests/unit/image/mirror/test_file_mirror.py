"""A file comes from a mirror by its sha256, or the failure of its source is reported."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from envbuilder.core.errors import NotOnIndex, SourceUnreachable, VerificationFailed
from envbuilder.image.mirror.file_mirror import NO_MIRROR, RegistryMirror, lacking_files
from envbuilder.lock.index.index import IndexFile
from envbuilder.oci.store import Store
from tests.unit.image.mirror.conftest import NAME
from tests.unit.oci.registry.faulty import Fault, Registry

CONTENT = b"a wheel" * 999
FILE = IndexFile(file="a.whl", sha256=hashlib.sha256(CONTENT).hexdigest(), url="")
OTHER = replace(FILE, file="b.whl", sha256=hashlib.sha256(b"b").hexdigest())


def gone() -> SourceUnreachable:
    return SourceUnreachable("a.whl cannot be fetched: the server answers 404", hint="name another index")


def test_a_file_without_a_manifest_is_found_by_its_sha256(
    mirror: RegistryMirror, registry: Registry, store: Store
) -> None:
    registry.put_blob(NAME, CONTENT)
    received: list[tuple[int, int]] = []
    mirror.fetch_instead(gone(), FILE, lambda done, total: received.append((done, total)))
    assert store.read(f"sha256:{FILE.sha256}") == CONTENT
    assert received[-1] == (len(CONTENT), len(CONTENT))


def test_without_a_mirror_the_failure_of_the_source_stays_as_it_is() -> None:
    error = gone()
    with pytest.raises(SourceUnreachable) as raised:
        NO_MIRROR.fetch_instead(error, FILE)
    assert raised.value is error
    assert lacking_files(NO_MIRROR, [FILE], error) == [FILE]


def test_a_mirror_that_lacks_a_file_is_named_after_its_source(mirror: RegistryMirror) -> None:
    with pytest.raises(SourceUnreachable, match=r"404; mirror: .*team/tf does not have a\.whl either") as raised:
        mirror.fetch_instead(gone(), FILE)
    assert raised.value.hint == "name another index"


def test_wrong_bytes_are_refused_by_their_digest(mirror: RegistryMirror, registry: Registry, store: Store) -> None:
    registry.put_blob(NAME, CONTENT)
    registry.faults.append(Fault(match="GET .*/blobs/", times=2, damage=True))
    with pytest.raises(VerificationFailed, match=r"a\.whl: the mirror .* has other content under its sha256"):
        mirror.fetch_instead(gone(), FILE)
    assert not store.has(f"sha256:{FILE.sha256}")


def test_an_unreachable_mirror_keeps_the_kind_of_the_first_failure(mirror: RegistryMirror, registry: Registry) -> None:
    registry.faults.append(Fault(match="HEAD", times=99, status=503))
    with pytest.raises(NotOnIndex, match=r"does not have a\.whl; mirror: .*503") as raised:
        lacking_files(mirror, [FILE, OTHER], NotOnIndex(("a.whl",)))
    assert raised.value.files == ("a.whl",)


def test_the_files_that_a_mirror_lacks_are_told_in_their_order(mirror: RegistryMirror, registry: Registry) -> None:
    registry.put_blob(NAME, CONTENT)
    third = replace(OTHER, file="c.whl", sha256="1" * 64)
    assert lacking_files(mirror, [third, FILE, OTHER], gone()) == [third, OTHER]
