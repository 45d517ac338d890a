"""`envbuilder cache` on the command line."""

from __future__ import annotations

import json

from envbuilder.image.layers.records import KeptImage, Records
from envbuilder.oci.store import Store
from tests.unit.cli.running import CommandLine
from tests.unit.oci.layout.images import file, image


def damaged_cache(envbuilder: CommandLine) -> Store:
    """A cache with a good file and a damaged one."""
    store = Store(folder=envbuilder.folder / "cache" / "store")
    store.folder.mkdir(parents=True)
    store.put(b"good")
    bad = store.path(store.put(b"bad"))
    bad.chmod(0o644)
    bad.write_bytes(b"BAD")
    return store


def test_a_cache_that_is_not_there_is_not_damaged(envbuilder: CommandLine) -> None:
    ended = envbuilder("cache", "verify")
    assert ended.status == 0
    assert ended.stdout.startswith("0 damaged; not checked: catalogs, fan-out, kept, locks, logs, ")


def test_damage_is_named_with_what_to_type_and_fails_the_command(envbuilder: CommandLine) -> None:
    store = damaged_cache(envbuilder)
    ended = envbuilder("cache", "verify")
    assert ended.status == 1
    assert f"damaged: {store.folder}/sha256/" in ended.stdout
    assert "next: `envbuilder cache verify --remove`" in ended.stdout
    assert "reading downloads and layers: 2" in ended.stderr


def test_damage_that_was_removed_does_not_fail_the_command(envbuilder: CommandLine) -> None:
    store = damaged_cache(envbuilder)
    ended = envbuilder("cache", "verify", "--remove", "--json")
    assert ended.status == 0
    document = json.loads(ended.stdout)
    assert [each["removed"] for each in document["damaged"]] == [True]
    assert [each["count"] for each in document["checked"]] == [2]
    assert len(list(store.entries())) == 1
    assert json.loads(envbuilder("cache", "verify", "--json").stdout)["damaged"] == []


def test_an_image_and_kept_changes_are_removed_by_the_names_of_the_list(envbuilder: CommandLine) -> None:
    store = Store(folder=envbuilder.folder / "cache" / "store")
    made = image(store, [file("a", b"b" * 5000)])
    Records(store=store).keep_image(KeptImage(name="envbuilder/mine:latest", image=made, lock="sha256:" + "ab" * 32))
    ended = envbuilder("cache", "remove", "envbuilder/mine:latest")
    assert (ended.status, ended.stderr) == (0, "")
    assert ended.stdout.startswith("freed ")
    assert json.loads(envbuilder("cache", "list", "--json").stdout)["images"] == []
    again = envbuilder("cache", "remove", "envbuilder/mine:latest")
    assert again.status == 2
    assert "image not found: envbuilder/mine:latest" in again.stderr
    assert "no changes are kept as mine" in envbuilder("cache", "remove", "mine").stderr


def test_the_list_of_a_damaged_cache_has_no_traceback(envbuilder: CommandLine) -> None:
    store = damaged_cache(envbuilder)
    for name in ("images/env%3a1.json", "layers/x.json", "pushed.json"):
        path = store.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("[" * 100_000)
    ended = envbuilder("cache", "list", "--json")
    assert (ended.status, ended.stderr) == (0, "")
    assert json.loads(ended.stdout)["images"] == []
