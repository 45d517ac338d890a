"""A secret in every place that commands read, and none in anything that they write, whether they succeed or fail."""

from __future__ import annotations

import base64
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.fakes.canaries import canary, leaks
from tests.unit.cli.hostile_world import NOBODY, USER, WHEELS, HostileWorld, address, hostile_world
from tests.unit.cli.running import CommandLine

LOCK = "envbuilder.lock"


@pytest.fixture
def world(envbuilder: CommandLine) -> Iterator[HostileWorld]:
    with hostile_world(envbuilder) as made:
        yield made


def build(world: HostileWorld, *options: str) -> int:
    """Lock and build."""
    assert world("lock", "--no-image", *world.sources).status == 0
    return world("build", "--engine", "assemble", *world.sources, *options).status


def lock_from_debian(world: HostileWorld, host: str) -> int:
    """Lock an environment whose base comes from a Debian archive with a password."""
    world.envbuilder.write("envbuilder.yaml", 'environment: "tf-2.4-cuda11.0"\nbase: "debian-new"\n')
    mirror = f"{address('debian', host)}/debian"
    return world("lock", "--no-image", *world.sources, "--debian-mirror", mirror).status


def test_an_image_and_all_documents_about_it_hold_no_secret(world: HostileWorld) -> None:
    pushed = f"{world.registry.host}/team/toy:1"
    assert world("lock", *world.sources).status == 0
    for command in (
        ("build", "--engine", "assemble", *world.sources, "-o", "layout", "--json"),
        ("build", "--engine", "assemble", *world.sources, "-t", pushed, "--push"),
        ("bundle", LOCK, "-o", "toy.bundle", *world.sources),
        ("plan", LOCK, "--json", *world.sources),
        ("show", LOCK, "--json"),
        ("verify", "layout", "--lock", LOCK),
        ("verify", pushed, "--lock", LOCK, "--engine", "assemble"),
        ("render", LOCK, "-o", "rendered", *world.sources),
        ("cache", "list", "--json"),
    ):
        assert world(*command).status == 0, command
    for name in ("report.html", "report.json", "report.md", "report.xml", "report.txt"):
        world("validate", "layout", "--tier", "static", "--lock", LOCK, "-o", name)
        assert (world.envbuilder.folder / name).stat().st_size
    assert world.leaks() == []


def test_every_secret_of_a_build_was_used_where_it_belongs(world: HostileWorld) -> None:
    assert build(world, "-t", f"{world.registry.host}/team/toy:1", "--push") == 0
    downloads = [(path, sent) for path, sent in world.index.seen if path.startswith("/files/")]
    assert {path.removeprefix("/files/") for path, _ in downloads} == set(WHEELS)
    assert all(sent.startswith("Basic ") for _, sent in downloads)
    for registry in (world.base_registry, world.registry):
        assert registry.issued
    others = (*world.base_registry.seen, *world.registry.seen)
    seen = "\n".join(f"{each.line} {dict(each.headers)}" for each in others)
    assert leaks({"registries": seen.encode()}, {"index": canary("index")}) == []


def test_what_is_seen_of_this_host_holds_no_secret(world: HostileWorld) -> None:
    world.envbuilder.unset("ENVBUILDER_MATRICES")
    for command in (
        ("doctor", "-o", "facts.json"),
        ("doctor", "--json"),
        ("doctor", "facts.json"),
        ("diagnose", "train.log", "--facts", "facts.json", "--json"),
        ("compare", "facts.json", "facts.json", "--json"),
        ("list", "--fits", "facts.json"),
    ):
        world.envbuilder.write("train.log", "ImportError: libcudart.so.11.0: cannot open shared object file\n")
        assert world(*command).status in {0, 1}, command
    assert world.leaks() == []


def test_settings_of_this_host_are_written_when_asked_for_and_for_the_owner_only(world: HostileWorld) -> None:
    assert build(world) == 0
    assert world("render", LOCK, "-o", "rendered", "--host-settings", *world.sources).status == 0
    assert world.leaks() == ["ca-bundle in rendered/host/ca.pem", "index in rendered/host/uv.toml"]
    assert (world.envbuilder.folder / "rendered" / "host" / "uv.toml").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("problem", ["refused", "401", "404"])
def test_an_index_that_fails_makes_nothing_known(world: HostileWorld, problem: str) -> None:
    assert world("lock", "--no-image", *world.sources).status == 0
    if problem == "401":
        world.index.password = "another"
    elif problem == "404":
        world.index.files.clear()
    host = NOBODY if problem == "refused" else f"127.0.0.1:{world.index.server_port}"
    index = ("--index", f"{address('index', host)}/simple/")
    for command in (("lock", "--upgrade"), ("build", "--engine", "assemble"), ("bundle", LOCK, "-o", "x.bundle")):
        assert world(*command, *world.sources, *index).status in {4, 5}, command
    assert world.leaks() == []


@pytest.mark.parametrize("problem", ["401", "404"])
def test_a_registry_that_fails_makes_nothing_known(world: HostileWorld, problem: str) -> None:
    name = f"{world.registry.host}/team/toy:1"
    if problem == "401":
        world.registry.login = "Basic another"
    assert build(world, "-t", name, "--push") == (0 if problem == "404" else 5)
    assert world("verify", f"{name}0", "--lock", LOCK, "--engine", "assemble").status == 5
    assert world.leaks() == []


def test_a_registry_mirror_that_is_named_with_a_password_makes_nothing_known(world: HostileWorld) -> None:
    world.plant("mirror")
    for scheme in ("", "http://"):
        mirror = f"{scheme}{address('mirror', NOBODY).removeprefix('http://')}"
        assert world("lock", *world.sources, "--registry-mirror", mirror).status == 2
    assert world.leaks() == []


@pytest.mark.parametrize("problem", ["401", "404"])
def test_a_debian_mirror_gets_its_login_and_its_failure_makes_nothing_known(world: HostileWorld, problem: str) -> None:
    secret = world.plant("debian")
    world.index.password = "another" if problem == "401" else secret
    assert lock_from_debian(world, f"127.0.0.1:{world.index.server_port}") in {5, 8}
    asked = [sent for path, sent in world.index.seen if "/dists/" in path]
    assert asked
    assert all(asked)
    assert world.leaks() == []


def test_an_engine_whose_address_holds_a_password_makes_nothing_known(world: HostileWorld) -> None:
    assert world("lock", "--no-image", *world.sources).status == 0
    assert world("build", "--engine", "docker", *world.sources).status == 6
    assert world("validate", "toy:1", "--engine", "docker").status == 6
    assert world("doctor", "--container", "one").status == 6
    assert world.leaks() == []


def test_a_proxy_that_does_not_answer_makes_nothing_known(world: HostileWorld) -> None:
    index = f"http://{USER}:{world.plant('far')}@far.invalid/simple/".replace("p@ss/w=rd", "p%40ss%2Fw%3Drd")
    assert world("catalog", "audit", "tensorflow-cpu==2.15.0", "--index", index).status == 5
    assert world.leaks() == []


def packed(content: bytes) -> dict[str, bytes]:
    """The same file in the packings that we write."""
    tar, archive = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as made:
        info = tarfile.TarInfo("inside")
        info.size = len(content)
        made.addfile(info, io.BytesIO(content))
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("inside", content)
    return {
        "plain": content,
        "layer": gzip.compress(tar.getvalue()),
        "xz": lzma.compress(content),
        "wheel in a layer": gzip.compress(archive.getvalue()),
    }


@pytest.mark.parametrize("before", ["", "me:", "user:"])
def test_the_search_finds_a_secret_in_every_form_and_packing(before: str) -> None:
    secret = canary("token")
    login = f"{before}{secret}"
    for form in (login, quote(login, safe=""), base64.b64encode(login.encode()).decode(), json.dumps({"a": login})):
        files = packed(f"... {form} ...".encode() * 3)
        assert {each.partition("!")[0] for each in leaks(files, {"token": secret})} == {
            f"token in {name}" for name in files
        }
    assert leaks(packed(b"Canary-other-p@ss/w=rd" * 3), {"token": secret}) == []
