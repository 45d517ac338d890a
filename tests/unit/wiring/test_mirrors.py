"""This host's Debian archive is found in every form of apt's configuration; other sources come from the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.catalog.environments import BaseKind
from envbuilder.core.errors import UsageError
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.configuration_file import parse
from envbuilder.wiring.mirrors import configured_archives, host_mirror, registry_mirror
from envbuilder.wiring.settings import Settings


def configured(folder: Path, text: str, **variables: str) -> Settings:
    """Return the settings of a host with this configuration file and these variables."""
    return Settings(
        matrices=folder,
        templates=folder,
        cache_path=folder,
        environ=variables,
        configuration=parse(text, folder / "config.toml"),
    )


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


def test_the_registry_mirror_is_that_of_the_command_line_else_of_the_variable_else_of_the_file(tmp_path: Path) -> None:
    text = 'registry-mirror = "file.example"\n'
    here = configured(tmp_path, text, ENVBUILDER_REGISTRY_MIRROR="variable.example:5000")
    assert registry_mirror(here, Sources(registry_mirror="line.example")) == "line.example"
    assert registry_mirror(here, Sources()) == "variable.example:5000"
    assert registry_mirror(configured(tmp_path, text), Sources()) == "file.example"
    assert registry_mirror(configured(tmp_path, ""), Sources()) == ""


def test_an_address_that_is_no_registry_is_refused_with_its_place(tmp_path: Path) -> None:
    here = configured(tmp_path, 'registry-mirror = "me:secret@host.example"\n')
    with pytest.raises(UsageError, match=r"config\.toml:1: must be HOST\[:PORT\] without credentials") as refused:
        registry_mirror(here, Sources())
    assert "secret" not in str(refused.value)


def test_interpreter_archives_of_the_file_are_relative_to_it(tmp_path: Path) -> None:
    archive = tmp_path / "pythons" / "cpython-3.7.tar.gz"
    here = configured(tmp_path, 'python-archive = ["pythons/cpython-3.7.tar.gz"]\n')
    with pytest.raises(UsageError, match=r"config\.toml:1: no such file: .*cpython-3\.7\.tar\.gz"):
        configured_archives(here)
    archive.parent.mkdir()
    archive.touch()
    assert configured_archives(here) == (archive,)
    assert configured_archives(configured(tmp_path, "")) == ()
