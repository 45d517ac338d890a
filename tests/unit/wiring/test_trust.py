"""A lock, a spec or a bundle from elsewhere: what it can do, and what is said before."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.catalog.environments import PythonProvider
from envbuilder.core.versions import Release
from envbuilder.image.bundle import bundle
from envbuilder.lock.lock import Lock, PythonPin, ToolPin
from envbuilder.lock.lockfile import dump
from envbuilder.oci.store import Store
from tests.fakes.catalogs import good_lock
from tests.unit.cli.running import CommandLine, Ended

HOSTILE = "../../victim"
PAYLOAD = b"written by a stranger"


@pytest.fixture
def lock() -> Lock:
    return replace(good_lock(), os_packages=())


def rendered(envbuilder: CommandLine, lock: Lock) -> Ended:
    Store(folder=envbuilder.folder / "cache" / "store").put(PAYLOAD)
    (envbuilder.folder / "repository").mkdir()
    envbuilder.write("repository/team.lock", dump(lock))
    return envbuilder("render", "repository/team.lock", "-o", "repository/out")


def test_an_interpreter_whose_name_is_a_path_is_not_written(envbuilder: CommandLine, lock: Lock) -> None:
    python = PythonPin(
        version=Release("3.8.18"),
        provider=PythonProvider.ARCHIVE,
        file=f"../{HOSTILE}",
        sha256=hashlib.sha256(PAYLOAD).hexdigest(),
    )
    ended = rendered(envbuilder, replace(lock, python=python))
    assert ended.status == 3
    assert "python.file: '../../../victim' is not the name of a file" in ended.stderr
    assert not (envbuilder.folder / "victim").exists()


@pytest.mark.parametrize("name", [f"../{HOSTILE}", "evil @ http://127.0.0.1:9/evil-1.0.tar.gz#"])
def test_a_tool_that_is_none_of_ours_is_neither_written_nor_installed(
    envbuilder: CommandLine, lock: Lock, name: str
) -> None:
    tool = ToolPin(name=name, version="1", sha256=hashlib.sha256(PAYLOAD).hexdigest())
    ended = rendered(envbuilder, replace(lock, tools=(*lock.tools, tool)))
    assert ended.status == 3
    assert "is none of memory-hook, probe, uv" in ended.stderr
    assert sorted(path.name for path in (envbuilder.folder / "repository").iterdir()) == ["team.lock"]


def carried(envbuilder: CommandLine, lock: Lock) -> Path:
    """A bundle of a lock whose files nobody has."""
    store = Store(folder=envbuilder.folder / "elsewhere")
    return bundle(lock, envbuilder.folder / "tf.bundle", store, [store.put(PAYLOAD)]).path


def test_what_a_bundle_trusts_is_said_once(envbuilder: CommandLine, lock: Lock) -> None:
    carried(envbuilder, lock)
    first = envbuilder("build", "--bundle", "tf.bundle", "--offline")
    assert "it trusts:" in first.stderr
    assert (
        "bundle: not checked for a signature (--key FILE): its lock and files are trusted as they are" in first.stderr
    )
    assert "interpreter: cpython-3.8.18-x86_64-linux-gnu.tar.gz by sha256; it is run" in first.stderr
    second = envbuilder("build", "--bundle", "tf.bundle", "--offline")
    assert "it trusts:" not in second.stderr
    assert "taking the files of tf.bundle into the store" in second.stderr


def test_what_a_lock_of_a_repository_trusts_is_said_once_and_without_credentials(
    envbuilder: CommandLine, lock: Lock
) -> None:
    envbuilder.write("team.lock", dump(lock))
    arguments = (
        "build",
        "team.lock",
        "--engine",
        "assemble",
        "--offline",
        "--index",
        "https://me:hunter2@x.example/simple",
    )
    first = envbuilder(*arguments)
    assert "packages: 9 files by sha256 from https://x.example/simple (--index or the spec)" in first.stderr
    assert "hunter2" not in first.stderr
    assert "it trusts:" not in envbuilder(*arguments).stderr
    assert "it trusts:" in envbuilder(*arguments[:-1], "https://y.example/simple").stderr


def test_every_index_that_is_asked_is_named(envbuilder: CommandLine, lock: Lock) -> None:
    envbuilder.write("team.lock", dump(lock))

    def first() -> str:
        trusts = json.loads(envbuilder("plan", "team.lock", "--json").stdout)["trusts"]
        return str(trusts[0]).removeprefix("packages: 9 files by sha256 from ")

    for name in (
        "UV_DEFAULT_INDEX",
        "UV_INDEX_URL",
        "PIP_INDEX_URL",
        "UV_INDEX",
        "UV_EXTRA_INDEX_URL",
        "UV_FIND_LINKS",
    ):
        envbuilder.set(name, "")
    settings = envbuilder.write("uv.toml", 'index-url = "https://a.example/simple"\n')
    assert first() == "uv's default index"
    envbuilder.set("UV_CONFIG_FILE", str(settings))
    assert first() == f"https://a.example/simple ({settings})"
    envbuilder.write("uv.toml", '[[index]]\nurl = "https://b.example/simple"\n')
    envbuilder.set("UV_EXTRA_INDEX_URL", "https://me:hunter2@c.example/simple")
    assert first() == f"uv's default index, and those of UV_EXTRA_INDEX_URL and {settings}"
    envbuilder.set("UV_INDEX_URL", "https://me:hunter2@d.example/simple")
    assert first().startswith("https://d.example/simple (UV_INDEX_URL), and those of")
    envbuilder.set("UV_INDEX_URL", "me:hunter2@e.example/simple")
    assert first().startswith("e.example/simple (UV_INDEX_URL), and those of")
    envbuilder.set("UV_INDEX_URL", "http://me:hunter2@[")
    assert first().startswith("an invalid address (UV_INDEX_URL), and those of")


def test_plan_says_what_a_build_would_trust_and_does_not_count_as_one(envbuilder: CommandLine, lock: Lock) -> None:
    envbuilder.write("team.lock", dump(lock))
    document = json.loads(
        envbuilder("plan", "team.lock", "--index", "https://me:hunter2@x.example/simple", "--json").stdout
    )
    assert document["trusts"][0] == "packages: 9 files by sha256 from https://x.example/simple (--index or the spec)"
    assert "it trusts:" in envbuilder("build", "team.lock", "--engine", "assemble", "--offline").stderr


def test_a_bundle_that_is_not_signed_by_the_key_is_refused_before_it_is_read(
    envbuilder: CommandLine, lock: Lock
) -> None:
    carried(envbuilder, lock)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"], check=True)
    ended = envbuilder("build", "--bundle", "tf.bundle", "--key", "key.pub", "--offline")
    assert ended.status == 8
    assert "tf.bundle is not signed: tf.bundle.sig not found" in ended.stderr
    assert not list(Store(folder=envbuilder.folder / "cache" / "store").entries())


def test_who_signed_a_bundle_is_said(envbuilder: CommandLine, lock: Lock) -> None:
    path = carried(envbuilder, lock)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"], check=True)
    sign = ["ssh-keygen", "-q", "-Y", "sign", "-f", "key", "-n", "envbuilder-bundle", str(path)]
    subprocess.run(sign, check=True, env={"PATH": os.environ.get("PATH", os.defpath)})
    ended = envbuilder("build", "--bundle", "tf.bundle", "--key", "key.pub", "--offline")
    assert "bundle: signed by SHA256:" in ended.stderr
    assert ended.status == 5


def test_a_key_without_a_bundle_is_an_error_of_usage(envbuilder: CommandLine) -> None:
    envbuilder.write("key.pub", "x")
    ended = envbuilder("build", "tf-2.15-cpu", "--key", "key.pub")
    assert ended.status == 2
    assert "--bundle FILE" in ended.stderr
