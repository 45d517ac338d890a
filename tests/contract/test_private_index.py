"""An index that demands user and password serves uv and our own downloads alike: real uv, a real server on loopback."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.http.web import Web
from envbuilder.core.uv import Uv
from envbuilder.image.base.uv_tool import find_uv
from envbuilder.lock.index.configured_indexes import index_logins
from envbuilder.lock.index.fetching import fetch, length_of
from envbuilder.lock.index.uv_index import UvIndex
from tests.fakes.private_index import FILE, PASSWORD, USER, Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(protected=True) as made:
        yield made


def downloaded(folder: Path, environ: Mapping[str, str], index: str = "") -> Path:
    own = {"HOME": str(folder), "PATH": "/usr/bin:/bin", **environ}
    asked = UvIndex(uv=Uv(program=find_uv(), cache=folder / "cache", environ=own, index=index))
    (file,) = asked.files("tinypkg", "1.0")
    assert PASSWORD not in file.url
    web = Web(own, index_logins(own, folder, index))
    assert length_of(file, web) > 0
    return fetch(file, folder, web=web)


def check(path: Path, server: Server) -> None:
    assert path.name == FILE
    assert hashlib.sha256(path.read_bytes()).hexdigest() == server.sha256


def test_credentials_in_the_address(server: Server, tmp_path: Path) -> None:
    check(downloaded(tmp_path, {}, f"{server.with_login}/simple/"), server)
    check(downloaded(tmp_path, {}, f"corp={server.with_login}/simple/"), server)


@pytest.mark.parametrize("variable", ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL"])
def test_credentials_in_a_variable_of_uv(server: Server, tmp_path: Path, variable: str) -> None:
    other = {} if variable in {"UV_DEFAULT_INDEX", "UV_INDEX_URL"} else {"UV_DEFAULT_INDEX": f"{server.with_login}/no/"}
    check(downloaded(tmp_path, {**other, variable: f"{server.with_login}/simple/"}), server)


def test_credentials_for_a_named_index(server: Server, tmp_path: Path) -> None:
    login = {"UV_INDEX_OUR_CORP_USERNAME": USER, "UV_INDEX_OUR_CORP_PASSWORD": PASSWORD}
    check(downloaded(tmp_path, {**login, "UV_DEFAULT_INDEX": f"our-corp={server.address}/simple/"}), server)
    settings = f'[[index]]\nname = "our-corp"\nurl = "{server.address}/simple/"\ndefault = true\n'
    (tmp_path / "uv.toml").write_text(settings, encoding="utf-8")
    check(downloaded(tmp_path, {**login, "UV_CONFIG_FILE": str(tmp_path / "uv.toml")}), server)


def test_credentials_in_the_settings_of_uv(server: Server, tmp_path: Path) -> None:
    (tmp_path / "uv.toml").write_text(f'index-url = "{server.with_login}/simple/"\n', encoding="utf-8")
    check(downloaded(tmp_path, {"UV_CONFIG_FILE": str(tmp_path / "uv.toml")}), server)


@pytest.mark.parametrize("name", [".netrc", "elsewhere"])
def test_credentials_in_netrc(server: Server, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(f"machine 127.0.0.1 login {USER} password {PASSWORD}\n", encoding="utf-8")
    (tmp_path / name).chmod(0o600)
    environ = {} if name == ".netrc" else {"NETRC": str(tmp_path / name)}
    check(downloaded(tmp_path, environ, f"{server.address}/simple/"), server)


def test_wrong_credentials_are_named_as_such_and_not_repeated(server: Server, tmp_path: Path) -> None:
    with pytest.raises(SourceUnreachable, match="user or password is missing or wrong") as caught:
        downloaded(tmp_path, {}, f"{server.with_login.replace('me:', 'nobody:')}/simple/")
    assert "netrc" in caught.value.hint
    assert PASSWORD not in f"{caught.value} {caught.value.hint}"
    assert "p%40ss" not in f"{caught.value} {caught.value.hint}"
