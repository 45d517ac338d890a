"""Sources of the command line come before those of this host; connections are shared; an offline build has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.core.errors import SourceUnreachable
from envbuilder.lock.spec_values import Sources
from envbuilder.wiring.build_inputs import package_files
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings
from envbuilder.wiring.sources import debian_trees, downloads, index_address, keyring, mirror
from tests.fakes.catalogs import good_lock, small_catalog
from tests.unit.cli.running import CommandLine

INDEX, MIRROR = "https://index.example/simple", "https://mirror.example/debian"


@pytest.fixture
def session(envbuilder: CommandLine) -> Session:
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL", "ENVBUILDER_DEBIAN_KEYRING"):
        envbuilder.unset(name)
    envbuilder.set("UV_INDEX_URL", "https://host.example/simple")
    envbuilder.set("ENVBUILDER_DEBIAN_KEYRING", "host.gpg")
    return Session(settings(), small_catalog(), lambda _: None)


def test_the_command_line_comes_before_this_host(session: Session) -> None:
    named = Sources(index=INDEX, debian_mirror=MIRROR, debian_keyring="/etc/own.gpg")
    here = session.settings
    assert (index_address(here, named), mirror(here, named), keyring(here, named)) == (INDEX, MIRROR, "/etc/own.gpg")
    assert index_address(here, Sources()) == "https://host.example/simple"
    assert keyring(here, Sources()) == str(Path("host.gpg").absolute())


def test_debian_trees_come_from_the_archive_that_is_named(session: Session) -> None:
    archive = debian_trees(session, Sources(debian_mirror=f"{MIRROR}/", debian_allow_expired=True)).archive
    assert (archive.mirror, archive.allow_expired, archive.keyring.named) == (MIRROR, True, True)
    assert archive.keyring.file == Path("host.gpg").absolute()


def test_connections_to_the_same_sources_are_shared(session: Session) -> None:
    named = Sources(index=INDEX)
    assert downloads(session, named) is downloads(session, Sources(index=INDEX))
    assert downloads(session, named) is debian_trees(session, named).archive.web
    assert downloads(session, named) is not downloads(session, Sources())


def test_an_offline_build_asks_no_index_and_names_the_files(session: Session) -> None:
    pins = good_lock().packages
    with pytest.raises(SourceUnreachable, match=rf"{len(pins)} files are not in the cache .*{pins[0].file}") as refused:
        package_files(session, Sources(index=INDEX), offline=True).locate(pins, "3.8")
    assert "--bundle FILE" in refused.value.hint


def test_nothing_is_made_in_the_cache_before_it_is_used(envbuilder: CommandLine, session: Session) -> None:
    assert session.engine is session.engine
    assert not (envbuilder.folder / "cache").exists()
    assert session.trees.folder == envbuilder.folder / "cache" / "bases"
