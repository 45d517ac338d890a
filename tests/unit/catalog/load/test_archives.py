"""Archives and publishers: what is read, and what is refused."""

from __future__ import annotations

import pytest

from envbuilder.catalog.archives import ArchiveFacts, ArchiveFormat
from envbuilder.catalog.load.tables import read_archives
from envbuilder.core.errors import InvalidInput

RIGHT, WRONG = "a" * 64, "b" * 64
TEXT = f"""
schema: 1
publishers:
  - id: "vendor"
    title: "The vendor"
    address: "https://vendor.example/files/"
    eula: "https://vendor.example/eula.html"
  - id: "index"
    title: "the package index"
archives:
  - id: "cuda-9.0.176-runfile"
    format: "makeself-nested"
    publisher: "vendor"
    path: "9.0/cuda_9.0.176-run"
    file: "cuda_9.0.176-run"
    sha256: "{RIGHT}"
    inner: "run_files/cuda.run"
    libraries:
      - soname: "libcublas.so.9.0"
        path: "lib64/libcublas.so.9.0.176"
    agreeing: 2
    sources:
      - "made up for tests"
known_wrong:
  - file: "cuda_9.0.176-run"
    sha256: "{WRONG}"
    really: "another file"
    sources:
      - "made up for tests"
"""


def faults(text: str) -> tuple[str, ...]:
    with pytest.raises(InvalidInput) as caught:
        read_archives(text, "archives.yaml")
    return tuple(f"{fault.field}: {fault.problem}" for fault in caught.value.faults)


def read() -> ArchiveFacts:
    return read_archives(TEXT, "archives.yaml")


def test_an_archive_and_its_publisher_are_read() -> None:
    facts = read()
    (archive,) = facts.archives
    publisher = facts.publisher(archive.publisher)
    assert archive.format is ArchiveFormat.MAKESELF_NESTED
    assert [library.path for library in archive.libraries] == ["lib64/libcublas.so.9.0.176"]
    assert publisher is not None
    assert publisher.eula == "https://vendor.example/eula.html"


def test_a_hash_that_was_published_by_mistake_is_found_by_file_and_value() -> None:
    facts = read()
    assert facts.wrong_hash("cuda_9.0.176-run", RIGHT) is None
    found = facts.wrong_hash("cuda_9.0.176-run", WRONG)
    assert found is not None
    assert found.really == "another file"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (f'"{RIGHT}"', f'"{WRONG}"', "archives[0].sha256: is known to be wrong: it is that of another file"),
        ('publisher: "vendor"', 'publisher: "nobody"', "archives[0].publisher: 'nobody' is not among the publishers"),
        ('publisher: "vendor"', 'publisher: "index"', "archives[0].path: must be empty: a package index has no paths"),
        (
            "makeself-nested",
            "makeself",
            "archives[0].inner: must be given for a nested run file, and only for one",
        ),
        (
            "libcublas.so.9.0",
            "libcuda.so.1",
            "archives[0].libraries[0].soname: libcuda.so.1 belongs to the driver",
        ),
        (
            'soname: "libcublas.so.9.0"',
            'soname: "libnvidia-ml.so.1"',
            "archives[0].libraries[0].soname: libnvidia-ml.so.1 belongs to the driver",
        ),
        (
            "lib64/libcublas",
            "../libcublas",
            "archives[0].libraries[0].path: '../libcublas.so.9.0.176' is not a relative path",
        ),
        (
            "https://vendor.example/files/",
            "http://vendor.example/files/",
            "publishers[0].address: 'http://vendor.example/files/' is not an https:// address",
        ),
    ],
)
def test_a_fault_is_told_with_its_field(old: str, new: str, expected: str) -> None:
    assert any(fault.startswith(expected) for fault in faults(TEXT.replace(old, new, 1)))
