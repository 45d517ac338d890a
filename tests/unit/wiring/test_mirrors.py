"""This host's Debian archive is found in every form of apt's configuration."""

from __future__ import annotations

import pytest

from envbuilder.catalog.environments import BaseKind
from envbuilder.wiring.mirrors import host_mirror


@pytest.mark.parametrize(
    "text",
    [
        "deb http://mirror.example/debian bookworm main\n",
        "deb https://mirror.example/debian/ bookworm main contrib\n".replace("https", "http"),
        "deb [signed-by=/usr/share/keyrings/x.gpg arch=amd64] http://mirror.example/debian bookworm main\n",
        "  deb\thttp://mirror.example/debian\tbookworm\tmain\n",
        "# deb http://old.example/debian buster main\ndeb http://mirror.example/debian bookworm main # note\n",
        "deb-src http://src.example/debian bookworm main\ndeb http://mirror.example/debian bookworm main\n",
        "deb http://host.example/other stable main\ndeb http://mirror.example/debian bookworm main\n",
        "deb http://host.example/debian-security bookworm main\ndeb http://mirror.example/debian bookworm main\n",
        "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: main\n",
        "types: deb\nuris: http://host.example/x http://mirror.example/debian/\n",
        "# URIs: http://old.example/debian\nURIs: http://mirror.example/debian\n",
    ],
)
def test_the_archive_is_read(text: str) -> None:
    assert host_mirror([text], BaseKind.DEBIAN) == "http://mirror.example/debian"


@pytest.mark.parametrize(
    "texts",
    [
        [],
        [""],
        ["# deb http://mirror.example/debian bookworm main\n"],
        ["deb http://mirror.example/ubuntu jammy main\n"],
        ["deb cdrom:[Debian 12]/debian bookworm main\n"],
        ["URIs:\n"],
    ],
)
def test_a_host_without_a_debian_archive_has_none(texts: list[str]) -> None:
    assert host_mirror(texts, BaseKind.DEBIAN) == ""


def test_the_first_file_with_an_archive_counts() -> None:
    texts = ["# nothing\n", "URIs: http://one.example/debian\n", "deb http://two.example/debian bookworm main\n"]
    assert host_mirror(texts, BaseKind.DEBIAN) == "http://one.example/debian"


def test_the_archive_of_ubuntu_is_another_one() -> None:
    texts = ["deb http://mirror.example/debian bookworm main\n", "URIs: http://mirror.example/ubuntu/\n"]
    assert host_mirror(texts, BaseKind.UBUNTU) == "http://mirror.example/ubuntu"
    assert host_mirror(texts[:1], BaseKind.UBUNTU) == ""
