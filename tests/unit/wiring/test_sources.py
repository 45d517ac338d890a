"""Sources of the command line come before those of this host; connections are shared; an offline build has none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from envbuilder.catalog.environments import BaseKind
from envbuilder.core.errors import SourceUnreachable, UsageError
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.build_inputs import package_files
from envbuilder.wiring.mirrors import keyring, mirrors
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings
from envbuilder.wiring.sources import (
    accepts_nvidia_eula,
    debian_trees,
    downloads,
    index_address,
    publisher_places,
)
from tests.fakes.catalogs import good_lock, real_catalog, small_catalog
from tests.unit.cli.running import CommandLine

DEBIAN = BaseKind.DEBIAN
INDEX, MIRROR = "https://index.example/simple", "https://mirror.example/debian"


@pytest.fixture
def session(envbuilder: CommandLine) -> Session:
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL", "ENVBUILDER_DEBIAN_KEYRING"):
        envbuilder.unset(name)
    envbuilder.set("UV_INDEX_URL", "https://host.example/simple")
    envbuilder.set("ENVBUILDER_DEBIAN_KEYRING", "host.gpg")
    return Session(settings(), small_catalog(), lambda _: None)


def test_the_command_line_comes_before_this_host(session: Session) -> None:
    named = Sources(index=INDEX, debian_mirrors=(MIRROR,), debian_keyring="/etc/own.gpg")
    here = session.settings
    assert (index_address(here, named), mirrors(here, named, DEBIAN)) == (INDEX, (MIRROR,))
    assert keyring(here, named, DEBIAN) == Path("/etc/own.gpg")
    assert index_address(here, Sources()) == "https://host.example/simple"
    assert keyring(here, Sources(), DEBIAN) == Path("host.gpg").absolute()
    assert keyring(here, Sources(), BaseKind.UBUNTU) is None


def test_debian_trees_come_from_the_archive_that_is_named(session: Session) -> None:
    archive = debian_trees(session, Sources(debian_mirrors=(f"{MIRROR}/",), debian_allow_expired=True)).archives[DEBIAN]
    assert (archive.mirrors, archive.allow_expired) == ((MIRROR,), True)
    assert archive.keyring.named == Path("host.gpg").absolute()


def test_connections_to_the_same_sources_are_shared(session: Session) -> None:
    named = Sources(index=INDEX)
    assert downloads(session, named) is downloads(session, Sources(index=INDEX))
    assert downloads(session, named) is debian_trees(session, named).archives[DEBIAN].web
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


@pytest.fixture
def real(envbuilder: CommandLine) -> Callable[[], Session]:
    envbuilder.unset("ENVBUILDER_PUBLISHERS")
    envbuilder.unset("ENVBUILDER_ACCEPT_NVIDIA_EULA")
    return lambda: Session(settings(), real_catalog(), lambda _: None)


def test_publishers_of_the_spec_come_before_those_of_this_host(
    envbuilder: CommandLine, real: Callable[[], Session]
) -> None:
    envbuilder.set("ENVBUILDER_PUBLISHERS", "*=/usb  nvidia-developer=/mirror")
    places = publisher_places(real(), Sources(publishers=(("nvidia-developer", "https://site.example/"),)))
    assert places == {"*": "/usb", "nvidia-developer": "https://site.example/"}


def test_an_unknown_publisher_is_refused_with_the_known_ones(real: Callable[[], Session]) -> None:
    with pytest.raises(UsageError, match="unknown publisher: nvidia") as refused:
        publisher_places(real(), Sources(publishers=(("nvidia", "/usb"),)))
    assert "nvidia-developer" in refused.value.hint


def test_a_variable_that_is_no_list_of_publishers_is_refused(
    envbuilder: CommandLine, real: Callable[[], Session]
) -> None:
    envbuilder.set("ENVBUILDER_PUBLISHERS", "/usb")
    with pytest.raises(UsageError, match="ENVBUILDER_PUBLISHERS: '/usb' is not NAME=URL or NAME=DIR"):
        publisher_places(real(), Sources())


def test_the_license_is_accepted_by_the_command_line_or_by_this_host(
    envbuilder: CommandLine, real: Callable[[], Session]
) -> None:
    assert not accepts_nvidia_eula(real().settings, Sources())
    assert accepts_nvidia_eula(real().settings, Sources(accept_nvidia_eula=True))
    envbuilder.set("ENVBUILDER_ACCEPT_NVIDIA_EULA", "1")
    assert accepts_nvidia_eula(real().settings, Sources())


def test_the_environment_names_mirrors_in_order_before_those_of_apt(envbuilder: CommandLine) -> None:
    envbuilder.set("ENVBUILDER_UBUNTU_MIRROR", "http://one.example/ubuntu/ http://two.example/ubuntu")
    found = mirrors(settings(), Sources(), BaseKind.UBUNTU)
    assert found == ("http://one.example/ubuntu", "http://two.example/ubuntu")
    named = Sources(ubuntu_mirrors=("http://named.example/ubuntu",))
    assert mirrors(settings(), named, BaseKind.UBUNTU) == ("http://named.example/ubuntu",)
