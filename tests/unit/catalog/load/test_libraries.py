"""Library sets and the archives that they refer to."""

from __future__ import annotations

import pytest

from envbuilder.catalog.cuda import LibrarySet
from envbuilder.catalog.load.tables import read_archives, read_libraries
from envbuilder.core.errors import InvalidInput
from tests.unit.catalog.load.test_archives import TEXT as ARCHIVES

TEXT = """
schema: 1
libraries:
  - id: "archive-9.0-cudnn7.0"
    cuda: "9.0"
    cudnn: "7.0.5"
    sonames:
      - "libcublas.so.9.0"
    sources:
      - "made up for tests"
    archives:
      - archive: "cuda-9.0.176-runfile"
        sonames:
          - "libcublas.so.9.0"
"""


def read(text: str) -> tuple[LibrarySet, ...]:
    return read_libraries(text, "libraries.yaml", read_archives(ARCHIVES, "archives.yaml"))


def test_a_set_holds_the_archives_that_it_names() -> None:
    (found,) = read(TEXT)
    assert [(use.archive.id, use.sonames) for use in found.archives] == [
        ("cuda-9.0.176-runfile", ("libcublas.so.9.0",)),
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("cuda-9.0.176-runfile", "cuda-9.1", "libraries[0].archives[0].archive: 'cuda-9.1' is not in the catalog"),
        (
            '          - "libcublas.so.9.0"',
            '          - "libcufft.so.9.0"',
            "libraries[0].archives[0].sonames: cuda-9.0.176-runfile has no libcufft.so.9.0",
        ),
        (
            '    sonames:\n      - "libcublas.so.9.0"',
            '    sonames:\n      - "libcufft.so.9.0"',
            "libraries[0].archives[0].sonames: libcublas.so.9.0 is not among the sonames of the set",
        ),
    ],
)
def test_a_reference_that_leads_nowhere_is_told(old: str, new: str, expected: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(TEXT.replace(old, new, 1))
    assert [f"{fault.field}: {fault.problem}" for fault in caught.value.faults] == [expected]
