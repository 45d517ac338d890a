"""Libraries of CUDA wheels have a link where the loader looks."""

from __future__ import annotations

import pytest

from envbuilder.catalog.cuda import LibraryLink
from envbuilder.core.errors import VerificationFailed
from envbuilder.core.image_layout import LIBRARIES
from envbuilder.image.layers.libraries import wheel_links

SITE = "opt/venv/lib/python3.8/site-packages"
PATHS = (
    "nvidia/cusolver/lib/libcusolver.so.11",
    "nvidia/cudnn/lib/libcudnn.so.8",
    "nvidia/cudnn/include/cudnn.h",
    "nvidia/cudnn/lib/__init__.py",
    "nvidia/nvcc/nvvm/lib/libnvvm.so.4",
    "other/lib/libother.so.1",
)


def links(*second: LibraryLink) -> list[tuple[str, str]]:
    return [(entry.path, entry.member.target) for entry in wheel_links(PATHS, SITE, second)]


def test_every_library_is_linked_in_order_and_nothing_else() -> None:
    assert links() == [
        (f"{LIBRARIES}/libcudnn.so.8", f"/{SITE}/nvidia/cudnn/lib/libcudnn.so.8"),
        (f"{LIBRARIES}/libcusolver.so.11", f"/{SITE}/nvidia/cusolver/lib/libcusolver.so.11"),
    ]


def test_a_second_name_leads_to_the_same_file() -> None:
    found = dict(links(LibraryLink(name="libcusolver.so.10", target="libcusolver.so.11")))
    assert found[f"{LIBRARIES}/libcusolver.so.10"] == found[f"{LIBRARIES}/libcusolver.so.11"]


def test_a_second_name_for_nothing_is_refused() -> None:
    with pytest.raises(VerificationFailed, match=r"libx\.so\.1 links to libx\.so\.2") as caught:
        links(LibraryLink(name="libx.so.1", target="libx.so.2"))
    assert "envbuilder lock" in caught.value.hint


def test_a_library_in_two_wheels_is_linked_once_whatever_the_order() -> None:
    paths = ["nvidia/a/lib/libx.so.1", "nvidia/b/lib/libx.so.1"]
    one, two = wheel_links(paths, SITE, ()), wheel_links(paths[::-1], SITE, ())
    assert [entry.member.target for entry in one] == [entry.member.target for entry in two]
    assert len(one) == 1
