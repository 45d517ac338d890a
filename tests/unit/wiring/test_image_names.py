"""A lock of a team has a name of its own, and a name on the command line means what was built under it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import UsageError
from envbuilder.core.references import image_name, registry_address
from envbuilder.image.builder import Engine
from envbuilder.image.layers.records import KeptImage
from envbuilder.lock.lockfile import digest, dump
from envbuilder.lock.targets import default_name
from envbuilder.wiring.engines import reference_of
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings
from tests.fakes.catalogs import good_lock, small_catalog
from tests.unit.cli.running import CommandLine
from tests.unit.oci.layout.images import file, image

ROWS = {row.id for row in small_catalog().environments}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("vision/envbuilder.lock", "vision"),
        ("My Team/envbuilder.lock", "my-team"),
        ("vision/nlp.lock", "nlp"),
        ("vision/a__b...c.lock", "a-b-c"),
        ("tf-2.15-cpu/envbuilder.lock", "tf-2-15-cpu"),
        ("語/envbuilder.lock", "own-tf-2.15-cpu"),
        ("base/envbuilder.lock", "own-base"),
        ("proving-x/envbuilder.lock", "own-proving-x"),
        ("x" * 200 + "/envbuilder.lock", "x" * 100),
    ],
)
def test_a_lock_without_a_name_is_called_after_its_directory_or_file(tmp_path: Path, path: str, name: str) -> None:
    found = default_name(tmp_path / path, "tf-2.15-cpu", ROWS)
    assert found == name
    assert image_name(found)
    assert found not in ROWS


@pytest.mark.parametrize("text", ["", "A", "a/b", "a:1", "-a", "a-", "a..b", "a.-b", "a___b", "é", "a" * 129, "base"])
def test_a_name_that_no_registry_takes_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"name of an image|reserved"):
        image_name(text)


@pytest.mark.parametrize("text", ["a", "vision", "a-b", "a--b", "a_b", "a__b", "tf2.4", "0"])
def test_a_name_that_registries_take_is_kept(text: str) -> None:
    assert image_name(text) == text


def test_the_repository_may_be_omitted_before_a_tag(envbuilder: CommandLine) -> None:
    envbuilder.set("DOCKER_HOST", "unix:///nowhere/docker.sock")
    session = Session(settings(), small_catalog(), print)
    made = image(session.store, [file("a", b"b")])
    for name in ("envbuilder/vision:jupyter", "envbuilder/mine:1", "mine:1"):
        session.records.keep_image(KeptImage(name=name, image=made, lock=digest(good_lock())))
    for given, meant in (
        ("vision:jupyter", "envbuilder/vision:jupyter"),
        ("envbuilder/vision:jupyter", "envbuilder/vision:jupyter"),
        ("mine:1", "mine:1"),
        ("vision:other", "vision:other"),
    ):
        assert reference_of(session, given, Engine.AUTO) == meant


def test_a_name_means_what_was_built_under_it(envbuilder: CommandLine) -> None:
    envbuilder.set("DOCKER_HOST", "unix:///nowhere/docker.sock")
    session = Session(settings(), small_catalog(), print)
    made = image(session.store, [file("a", b"b")])
    session.records.keep_image(KeptImage(name="envbuilder/vision:latest", image=made, lock=digest(good_lock())))
    assert reference_of(session, "vision", Engine.AUTO) == "envbuilder/vision:latest"
    assert reference_of(session, "vision", Engine.DOCKER) == "vision"
    assert reference_of(session, "tf-2.15-cpu", Engine.AUTO) == "envbuilder/tf-2.15-cpu:latest"
    assert reference_of(session, "tf-2.4", Engine.AUTO) == "envbuilder/tf-2.4-cuda11.0:latest"
    assert reference_of(session, "my_project", Engine.AUTO) == "my_project"
    session.records.keep_image(KeptImage(name="envbuilder/my-project:latest", image=made, lock=digest(good_lock())))
    assert reference_of(session, "my_project", Engine.AUTO) == "envbuilder/my-project:latest"
    for other in ("nlp", "vision:1", "team/vision", "localhost:5000/vision", "image.tar", "sha256:" + "0" * 64):
        assert reference_of(session, other, Engine.AUTO) == other


def test_a_lock_means_the_image_that_is_built_from_it(envbuilder: CommandLine) -> None:
    session = Session(settings(), small_catalog(), print)
    folder = envbuilder.folder / "My_Team"
    folder.mkdir()
    for file_name, name, meant in (
        ("envbuilder.lock", "", "envbuilder/my-team:latest"),
        ("nlp.lock", "", "envbuilder/nlp:latest"),
        ("other.lock", "vision", "envbuilder/vision:latest"),
    ):
        (folder / file_name).write_text(dump(replace(good_lock(), name=name)), encoding="utf-8")
        assert reference_of(session, str(folder / file_name), Engine.AUTO) == meant


def test_two_images_of_one_name_are_refused_before_anything_is_built(envbuilder: CommandLine) -> None:
    envbuilder.set("DOCKER_HOST", "unix:///nowhere/docker.sock")
    for folder in ("one/vision", "two/vision"):
        (envbuilder.folder / folder).mkdir(parents=True)
        envbuilder.write(f"{folder}/envbuilder.lock", dump(good_lock()))
    ended = envbuilder("build", "one/vision", "two/vision", "--engine", "assemble", "--offline")
    assert ended.status == 2
    assert "several images would have the name vision" in ended.stderr


NO_REFERENCES = [
    "-x",
    "a b",
    "Team/vision",
    "./vision",
    "x/y@sha256:zz",
    "x:tag@sha256:",
    "http://host/x",
    "host:99999/x",
    "user:pw@host/x",
    "a" * 256,
    "$(id)",
    "x\n",
]


@pytest.mark.parametrize("text", NO_REFERENCES)
def test_what_is_no_reference_is_refused_before_anybody_is_asked(envbuilder: CommandLine, text: str) -> None:
    envbuilder.set("DOCKER_HOST", "unix:///nowhere/docker.sock")
    session = Session(settings(), small_catalog(), print)
    with pytest.raises(UsageError, match=r"is not an? (image reference|image tag|sha256 digest)") as caught:
        reference_of(session, text, Engine.DOCKER)
    assert caught.value.hint.startswith("write [HOST[:PORT]/]NAME")
    assert len(caught.value.message) < 120


@pytest.mark.parametrize("arguments", [("build", "tf-2.15-cpu", "--tag"), ("validate", "--engine", "docker"), ("run",)])
def test_a_reference_that_is_none_ends_every_verb_alike(envbuilder: CommandLine, arguments: tuple[str, ...]) -> None:
    envbuilder.set("DOCKER_HOST", "unix:///nowhere/docker.sock")
    ended = envbuilder(*arguments, "Team/Vision", *(["true"] if arguments == ("run",) else []))
    assert ended.status == 2
    assert "'Team/Vision' is not an image reference" in ended.stderr
    assert "write [HOST[:PORT]/]NAME[:TAG]" in ended.stderr


@pytest.mark.parametrize("mirror", ["user:hunter2@host:5000", "http://user:hunter2@host", "-x", "host:99999", "a b"])
def test_a_registry_mirror_is_a_host_and_credentials_in_it_are_not_repeated(
    envbuilder: CommandLine, mirror: str
) -> None:
    ended = envbuilder("build", "tf-2.15-cpu", f"--registry-mirror={mirror}")
    assert ended.status == 2
    assert "HOST[:PORT]" in ended.stderr
    assert "hunter2" not in ended.stdout + ended.stderr


@pytest.mark.parametrize("mirror", ["localhost:5000", "[::1]:5000", "registry.example", "harbor.example/proxy-cache"])
def test_a_registry_mirror_may_have_a_port_and_a_path(mirror: str) -> None:
    assert registry_address(mirror) == mirror
