"""What an image says about running a command in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.errors import UsageError, VerificationFailed
from envbuilder.image.running.process_settings import account, settings_of


def test_a_configuration_is_read() -> None:
    config = {
        "Env": ["B=2=3", "A=1"],
        "WorkingDir": "/work",
        "User": "me:us",
        "Labels": {"b": "2", "a": "1"},
        "Entrypoint": ["/bin/run"],
        "Cmd": ["-v"],
    }
    found = settings_of(json.dumps({"config": config}).encode())
    assert found.env[:2] == (("A", "1"), ("B", "2=3"))
    assert found.env[2][0] == "PATH"
    assert (found.folder, found.user) == ("/work", "me:us")
    assert found.labels == (("a", "1"), ("b", "2"))
    assert found.command == ("/bin/run", "-v")


def test_variables_that_no_process_can_have_are_left_out() -> None:
    env = ["A=x\0y", "=x", "B=1", "PATH=/bin\0"]
    config = {"Env": env, "WorkingDir": "/a\0b", "Cmd": ["/bin/x", "a\0"], "Labels": {}}
    found = settings_of(json.dumps({"config": config}).encode())
    assert [name for name, _ in found.env] == ["B", "PATH"]
    assert (found.folder, found.command) == ("/", ("/bin/x",))


@pytest.mark.parametrize("user", ["2147483647", "4294967295", "4294967295:4294967295", "0:4294967295", "9999999999"])
def test_an_account_above_those_of_the_kernel_is_refused(user: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="above 2147483646"):
        account(tmp_path, user)


@pytest.mark.parametrize(
    "config",
    [b"", b"[]", b'{"config": null}', b'{"config": {"Env": "A=1", "Labels": [], "WorkingDir": "x", "User": 3}}'],
)
def test_an_odd_configuration_says_nothing(config: bytes) -> None:
    found = settings_of(config)
    assert [name for name, _ in found.env] == ["PATH"]
    assert (found.folder, found.user, found.labels, found.command) == ("/", "", (), ())


@given(st.binary(max_size=200))
def test_any_bytes_are_a_configuration(config: bytes) -> None:
    assert settings_of(config).folder.startswith("/")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("root:x:0:0:r:/root:/bin/sh\nbroken\nme:x:1000:100:m:/home/me:/bin/sh\n")
    (tmp_path / "etc/group").write_text("us:x:500:me\n")
    return tmp_path


@pytest.mark.parametrize(
    ("user", "found"),
    [
        ("", (0, 0, "/root")),
        ("root", (0, 0, "/root")),
        ("me", (1000, 100, "/home/me")),
        ("1000", (1000, 100, "/home/me")),
        ("me:us", (1000, 500, "/home/me")),
        ("1234", (1234, 0, "")),
        ("1234:77", (1234, 77, "")),
    ],
)
def test_accounts_are_those_of_the_tree(user: str, found: tuple[int, int, str], tree: Path) -> None:
    known = account(tree, user)
    assert (known.uid, known.gid, known.home) == found


@pytest.mark.parametrize("user", ["you", "me:them", "-1"])
def test_an_account_that_the_tree_does_not_have_is_refused(user: str, tree: Path) -> None:
    with pytest.raises(UsageError, match="the image has no"):
        account(tree, user)


def test_a_tree_without_accounts_knows_numbers(tmp_path: Path) -> None:
    assert account(tmp_path, "").uid == 0
    assert account(tmp_path, "7:8").gid == 8


def test_accounts_of_an_absurd_size_are_refused(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_bytes(b"root:x:0:0::/root:/bin/sh\n" * 200_000)
    with pytest.raises(VerificationFailed, match="etc/passwd is larger than 4 MiB"):
        account(tmp_path, "me")
