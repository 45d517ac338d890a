"""Downloads get their credentials, and nobody else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.core.http.credentials import Login, Logins, netrc_logins, protected
from envbuilder.core.http.web import Web
from tests.fakes.private_index import FILE, PASSWORD, USER, Server, serving

ME = Login(user=USER, password=PASSWORD)


def status(web: Web, url: str) -> int:
    with web.asked(url, {}) as answer:
        return answer.status


def netrc(folder: Path, text: str) -> dict[str, Login]:
    (folder / ".netrc").write_text(text, encoding="utf-8")
    return netrc_logins({}, folder)


def sent(server: Server) -> list[bool]:
    """Which requests had credentials."""
    return [bool(login) for _, login in server.seen]


def test_a_file_on_the_origin_of_an_index_is_fetched_with_its_credentials() -> None:
    with serving(protected=True) as index:
        web = Web({}, Logins(indexes=(protected(f"{index.with_login}/simple/"),)))
        assert status(web, f"{index.address}/files/{FILE}") == 200
        assert status(Web({}), f"{index.address}/files/{FILE}") == 401


def test_an_address_with_user_and_password_needs_nothing_else() -> None:
    with serving(protected=True) as index:
        assert status(Web({}), f"{index.with_login}/files/{FILE}") == 200


def test_credentials_do_not_follow_a_redirect_to_another_origin() -> None:
    with serving(protected=False) as cdn, serving(protected=True, redirect=cdn.address) as index:
        hosts = {"default": ME, "localhost": ME}
        web = Web({}, Logins(indexes=(protected(f"{index.with_login}/simple/"),), hosts=hosts))
        assert status(web, f"{index.address}/files/{FILE}") == 200
        assert status(web, f"{index.with_login}/files/{FILE}") == 200
        assert sent(index) == [True, True]
        assert sent(cdn) == [False, False]


def test_netrc_is_used_for_an_index_without_credentials(tmp_path: Path) -> None:
    with serving(protected=True) as index:
        for machine in ("machine 127.0.0.1", "default"):
            hosts = netrc(tmp_path, f"{machine} login {USER} password {PASSWORD}\n")
            web = Web({}, Logins(indexes=(protected(f"{index.address}/simple/"),), hosts=hosts))
            assert status(web, f"{index.address}/files/{FILE}") == 200


def test_netrc_is_not_used_over_plain_http_for_other_origins(tmp_path: Path) -> None:
    with serving(protected=False) as other:
        hosts = netrc(tmp_path, f"machine 127.0.0.1 login {USER} password {PASSWORD}\n")
        assert status(Web({}, Logins(hosts=hosts)), f"{other.address}/files/{FILE}") == 200
        assert sent(other) == [False]


def test_netrc_names_hosts_over_https_and_its_default_is_for_indexes_only() -> None:
    logins = Logins(
        indexes=(protected("https://index.example/simple"),),
        hosts={"default": ME, "files.example": Login(user="f", password="f")},
    )
    assert logins.find("https://index.example/x.whl") == ME
    assert logins.find("https://files.example/x.whl") == Login(user="f", password="f")
    assert logins.find("http://files.example/x.whl") is None
    assert logins.find("https://elsewhere.example/x.whl") is None
    assert logins.find("https://index.example:8443/x.whl") is None


def test_two_indexes_on_one_origin_keep_their_own_credentials() -> None:
    one, two = Login(user="one", password="1"), Login(user="two", password="2")
    logins = Logins(
        indexes=(protected("https://h.example/a/simple", one), protected("https://h.example/b/simple", two))
    )
    assert logins.find("https://h.example/a/files/x.whl") == one
    assert logins.find("https://h.example/b/files/x.whl") == two


def test_the_variable_NETRC_names_another_file(tmp_path: Path) -> None:  # noqa: N802
    (tmp_path / "own").write_text("machine h.example login a password b\n", encoding="utf-8")
    found = netrc_logins({"NETRC": str(tmp_path / "own")}, tmp_path / "nowhere")
    assert found == {"h.example": Login(user="a", password="b")}


@pytest.mark.parametrize("content", [b"machine", b"\xff\xfe", b"machine h secret x", b""])
def test_a_netrc_that_cannot_be_parsed_gives_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".netrc").write_bytes(content)
    assert netrc_logins({}, tmp_path) == {}


def test_a_password_is_not_shown() -> None:
    assert "p@ss" not in f"{ME!r} {Logins(indexes=(protected('https://me:p%40ss@h.example/'),))!r}"


def test_an_error_holds_no_address() -> None:
    with serving(protected=False) as gone:
        pass
    with pytest.raises(OSError, match="does not accept connections") as caught:
        status(Web({}), f"{gone.with_login}/files/{FILE}?token=hidden")
    assert "127.0.0.1" not in str(caught.value)


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://h.example/x"])
def test_a_server_cannot_redirect_to_a_file(place: str) -> None:
    with serving(protected=False, redirect=place) as index, pytest.raises(OSError, match="not http"):
        status(Web({}), f"{index.address}/files/{FILE}")


def test_redirects_end() -> None:
    with serving(protected=False) as index:
        index.redirect = index.address
        with pytest.raises(OSError, match="too many redirects"):
            status(Web({}), f"{index.address}/files/{FILE}")
        assert len(index.seen) == 6
