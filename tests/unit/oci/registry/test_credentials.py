"""Logins are read as `docker login` leaves them; what is wrong with them is said without showing them."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from envbuilder.core.errors import InvalidInput, ToolFailed, ToolMissing
from envbuilder.oci.registry.credentials import Credentials, RegistryLogins, login_files

HOST = "registry.example:5000"
SECRET = "hidden"
AUTH = base64.b64encode(f"me:{SECRET}".encode()).decode()


def logins(folder: Path, config: object = None, *, seconds: float = 10.0) -> RegistryLogins:
    if config is not None:
        text = config if isinstance(config, str) else json.dumps(config)
        (folder / "config.json").write_text(text, encoding="utf-8")
    return RegistryLogins(files=[folder / "config.json"], environ={"PATH": f"{folder}:/usr/bin:/bin"}, seconds=seconds)


def helper(folder: Path, script: str, name: str = "test") -> None:
    program = folder / f"docker-credential-{name}"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)


def test_no_file_is_no_login(tmp_path: Path) -> None:
    assert logins(tmp_path).of(HOST) is None
    assert logins(tmp_path / "absent").of(HOST) is None


@pytest.mark.parametrize("key", [HOST, f"https://{HOST}", f"https://{HOST}/v1/", f"http://{HOST}/v2/"])
def test_a_stored_login_is_found_by_its_host(tmp_path: Path, key: str) -> None:
    found = logins(tmp_path, {"auths": {"other": {"auth": "AAAA"}, key: {"auth": AUTH}}}).of(HOST)
    assert found == Credentials(user="me", password=SECRET)


def test_a_password_may_hold_colons(tmp_path: Path) -> None:
    auth = base64.b64encode(b"me:a:b:").decode()
    assert logins(tmp_path, {"auths": {HOST: {"auth": auth}}}).of(HOST) == Credentials(user="me", password="a:b:")


def test_an_identity_token_goes_before_a_password(tmp_path: Path) -> None:
    entry = {"auth": AUTH, "identitytoken": "t"}
    assert logins(tmp_path, {"auths": {HOST: entry}}).of(HOST) == Credentials(identity="t")


def test_another_port_is_another_registry(tmp_path: Path) -> None:
    assert logins(tmp_path, {"auths": {"registry.example": {"auth": AUTH}}}).of(HOST) is None


def test_a_helper_of_the_host_goes_before_the_store(tmp_path: Path) -> None:
    helper(tmp_path, f'read host; printf \'{{"Username":"u-%s","Secret":"{SECRET}"}}\' "$host"', "mine")
    helper(tmp_path, "exit 9", "store")
    found = logins(tmp_path, {"credHelpers": {HOST: "mine"}, "credsStore": "store"}).of(HOST)
    assert found == Credentials(user=f"u-{HOST}", password=SECRET)


def test_a_helper_may_give_an_identity_token(tmp_path: Path) -> None:
    helper(tmp_path, 'cat >/dev/null; echo \'{"Username":"<token>","Secret":"t"}\'')
    assert logins(tmp_path, {"credsStore": "test"}).of(HOST) == Credentials(identity="t")


def test_a_helper_that_knows_nothing_leaves_the_stored_login(tmp_path: Path) -> None:
    helper(tmp_path, "cat >/dev/null; echo 'credentials not found in native keychain'; exit 1")
    known = logins(tmp_path, {"credsStore": "test", "auths": {HOST: {"auth": AUTH}}})
    assert known.of(HOST) == Credentials(user="me", password=SECRET)
    assert logins(tmp_path, {"credsStore": "test", "auths": {HOST: {}}}).of(HOST) is None


@pytest.mark.parametrize(
    ("script", "seconds", "problem"),
    [
        (f"echo {SECRET}; echo {SECRET} >&2; exit 1", 600, "exited with status 1"),
        (f"echo {SECRET}", 600, "printed no JSON object"),
        ("exec sleep 600", 0.5, "did not answer within 0.5 s"),
    ],
)
def test_a_helper_that_fails_is_named_and_its_words_are_not_repeated(
    tmp_path: Path, script: str, seconds: float, problem: str
) -> None:
    helper(tmp_path, script)
    with pytest.raises(ToolFailed, match=problem) as caught:
        logins(tmp_path, {"credsStore": "test"}, seconds=seconds).of(HOST)
    assert "docker-credential-test" in caught.value.message
    assert caught.value.hint
    assert SECRET not in f"{caught.value} {caught.value.hint}"


def test_a_helper_that_is_not_installed_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="docker-credential-absent"):
        logins(tmp_path, {"credsStore": "absent"}).of(HOST)


@pytest.mark.parametrize(
    "config",
    [
        f"{SECRET}",
        "[]",
        {"auths": {HOST: {"auth": SECRET + "*"}}},
        {"auths": {HOST: {"auth": base64.b64encode(SECRET.encode()).decode()}}},
        {"auths": {HOST: {"auth": base64.b64encode(b"\xff\xfe:x").decode()}}},
        {"credsStore": f"../{SECRET}"},
    ],
)
def test_a_file_that_docker_did_not_write_is_refused(tmp_path: Path, config: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        logins(tmp_path, config).of(HOST)
    assert "config.json" in caught.value.message
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "config", [{"auths": []}, {"auths": {HOST: "x"}}, {"auths": {HOST: {"auth": 3}}}, {"credHelpers": {HOST: 1}}, {}]
)
def test_odd_shapes_are_no_login(tmp_path: Path, config: object) -> None:
    assert logins(tmp_path, config).of(HOST) is None


def test_credentials_do_not_show_themselves() -> None:
    shown = repr(Credentials(user="me", password=SECRET, identity="t-1"))
    assert SECRET not in shown
    assert "t-1" not in shown


def auth(user: str) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:{SECRET}".encode()).decode()}


def test_the_most_exact_entry_of_a_registry_is_used(tmp_path: Path) -> None:
    entries = {HOST: auth("host"), f"{HOST}/team": auth("team"), f"{HOST}/team/tf": auth("image")}
    found = logins(tmp_path, {"auths": entries})
    users = {name: getattr(found.of(HOST, name), "user", "") for name in ("team/tf", "team/other", "teams/tf", "tf")}
    assert users == {"team/tf": "image", "team/other": "team", "teams/tf": "host", "tf": "host"}


def test_credentials_for_a_part_of_a_registry_are_for_that_part_only(tmp_path: Path) -> None:
    found = logins(tmp_path, {"auths": {f"{HOST}/team": auth("team")}})
    assert found.of(HOST, "others/tf") is None
    assert found.of(HOST) is None


def test_the_files_of_docker_and_of_the_containers_tools_are_read_in_order(tmp_path: Path) -> None:
    home = tmp_path / "home"
    environ = {"REGISTRY_AUTH_FILE": str(tmp_path / "named.json"), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    files = login_files(environ, home)
    assert files == (
        tmp_path / "named.json",
        home / ".docker" / "config.json",
        tmp_path / "run" / "containers" / "auth.json",
        home / ".config" / "containers" / "auth.json",
    )
    assert login_files({"DOCKER_CONFIG": "/d", "XDG_CONFIG_HOME": "/c"}, home) == (
        Path("/d/config.json"),
        Path("/c/containers/auth.json"),
    )
    found = RegistryLogins(files=files, environ={})
    assert found.of(HOST) is None
    for number, file in reversed(list(enumerate(files))):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"auths": {HOST: auth(f"u{number}"), "else": auth("x")}}), encoding="utf-8")
        assert found.of(HOST) == Credentials(user=f"u{number}", password=SECRET)


def test_a_login_file_that_cannot_be_parsed_is_named(tmp_path: Path) -> None:
    file = tmp_path / "auth.json"
    file.write_text(f"{SECRET}", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"auth\.json") as caught:
        RegistryLogins(files=[file], environ={}).of(HOST)
    assert SECRET not in str(caught.value)
