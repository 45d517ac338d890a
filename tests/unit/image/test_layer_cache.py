"""Layers come from a cache in a registry instead of being made; one that fails or lies costs time, never an image."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from envbuilder.core.http.retries import Pacing
from envbuilder.core.references import ImageRef
from envbuilder.image.assemble import Assembled, Assembly, assemble
from envbuilder.image.layers.cached_bases import with_libraries
from envbuilder.image.layers.layer_writer import Packed
from envbuilder.image.layers.ports import AssemblyContext
from envbuilder.image.layers.records import LayerRecord
from envbuilder.image.layers.registry_cache import (
    ARTIFACT_TYPE,
    RECORD,
    CacheRepositories,
    RegistryCacheWriter,
    RegistryLayerCache,
    entry_manifest,
    entry_tag,
)
from envbuilder.lock.lock import Lock, OwnFile
from envbuilder.oci.documents import EMPTY
from envbuilder.oci.images import LayerFormat
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.push import Push
from envbuilder.oci.registry.pushes import Pushes
from tests.unit.image.toys import World
from tests.unit.oci.registry.faulty import Fault, Registry, serving, sha256

FORMAT = LayerFormat.GZIP_SPLICED
NO_WAITING = Pacing(pause=lambda _seconds: None, jitter=lambda: 1.0)


@dataclass(kw_only=True)
class Team:
    """Machines whose caches begin empty, and a registry.

    Attributes:
        world: The sources.
        registry: The registry.
        client: Connections to it.
        said: What machines reported.
    """

    world: World
    registry: Registry
    client: RegistryClient
    said: list[str] = field(default_factory=list)

    def machine(self, name: str, *, read: tuple[str, ...] = ("cache",), write: str = "") -> AssemblyContext:
        context = self.world.ports(name)
        repositories = CacheRepositories(client=self.client, report=self.said.append)
        places = [self.place(each) for each in read]
        cache = RegistryLayerCache(repositories=repositories, store=context.store, read=places)
        if not write:
            return replace(context, cache=cache)
        writer = RegistryCacheWriter(repositories=repositories, store=context.store, write=self.place(write))
        return replace(context, cache=cache, cache_writer=writer)

    def place(self, name: str) -> ImageRef:
        return ImageRef.parse(name if ":" in name else f"{self.registry.host}/{name}")

    def filled(self, lock: Lock) -> Assembled:
        """The image of a machine that adds its layers to the cache; what happened until then is forgotten."""
        image = one(lock, self.machine("first", read=(), write="cache"))
        self.world.fetched.clear()
        self.world.opened.clear()
        self.registry.seen.clear()
        return image

    def entries(self) -> set[str]:
        return {tag for name, tag in self.registry.manifests if name == "cache" and tag.startswith("layer-")}


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    with serving() as registry, RegistryClient({}, [], NO_WAITING) as client:
        yield Team(world=World(folder=tmp_path, libraries=("libc.so.6",)), registry=registry, client=client)


def run(lock: Lock, context: AssemblyContext, *, digests_only: bool = False) -> Assembly:
    return assemble([lock], FORMAT, context, lambda _event: None, digests_only=digests_only)


def one(lock: Lock, context: AssemblyContext) -> Assembled:
    [image] = run(lock, context).images
    return image


def key_of(image: Assembled, layer: str) -> str:
    [key] = [each.key for each in image.image.layers if each.id == layer]
    return key


def blob_of(image: Assembled, layer: str) -> str:
    [digest] = [each.blob.digest for each in image.image.layers if each.id == layer]
    return digest


def size_of(image: Assembled, layer: str) -> int:
    [size] = [each.blob.size for each in image.image.layers if each.id == layer]
    return size


def lie(team: Team, image: Assembled, layer: str, **changes: str | int) -> None:
    """Let the cache state something else about a layer."""
    [pin] = [each for each in image.image.layers if each.id == layer]
    true = Packed(digest=pin.blob.digest, size=pin.blob.size, diff_id=pin.diff_id)
    packed = replace(true, **changes)  # type: ignore[arg-type]
    manifest = entry_manifest(pin.key, LayerRecord(packed=packed), FORMAT)
    team.registry.manifests["cache", entry_tag(pin.key)] = (manifest.descriptor.media_type, manifest.content)


def test_another_machine_takes_every_layer_of_a_lock_without_digests_from_the_cache(team: Team) -> None:
    first = team.filled(team.world.lock())
    context = team.machine("second")
    done = run(team.world.lock(), context)
    [image] = done.images
    assert image.image == first.image
    assert (image.made, team.world.fetched, team.world.opened, team.said) == (frozenset(), [], [], [])
    assert (first.is_confirmed, image.is_confirmed) == (True, False)
    assert all(context.store.has(layer.blob.digest, layer.blob.size) for layer in image.image.layers)
    assert done.fetched == sum({layer.blob.digest: layer.blob.size for layer in image.image.layers}.values())


def test_an_entry_is_an_artifact_that_holds_the_blob_so_that_collectors_keep_it(team: Team) -> None:
    first = team.filled(team.world.lock())
    assert team.entries() == {entry_tag(layer.key) for layer in first.image.layers}
    manifest = json.loads(team.registry.manifests["cache", entry_tag(key_of(first, "own"))][1])
    assert manifest["artifactType"] == ARTIFACT_TYPE
    assert [layer["digest"] for layer in manifest["layers"]] == [blob_of(first, "own")]
    assert ("cache", EMPTY.descriptor.digest) in team.registry.blobs
    assert ("cache", blob_of(first, "own")) in team.registry.blobs


def test_the_configuration_that_all_entries_share_is_sent_once(team: Team) -> None:
    one(team.world.lock(), team.machine("first", read=(), write="cache"))
    assert len(team.registry.lines(f"(PUT|HEAD) .*{EMPTY.descriptor.digest}")) == 2


def test_a_changed_lock_finds_its_unchanged_layers(team: Team) -> None:
    team.filled(team.world.lock(team.world.own(b"a")))
    image = one(team.world.lock(team.world.own(b"b", "attrs")), team.machine("second"))
    assert image.made == {"own", "image"}
    assert team.world.fetched == ["attrs-1.0-py3-none-any.whl"]


def test_digests_are_filled_in_without_fetching_a_layer(team: Team) -> None:
    first = team.filled(team.world.lock())
    context = team.machine("second")
    done = run(team.world.lock(), context, digests_only=True)
    assert done.images[0].lock.image == first.lock.image
    assert (done.fetched, list(context.store.entries()), team.registry.lines("GET .*/blobs/")) == (0, [], [])


def with_file(lock: Lock, context: AssemblyContext) -> Lock:
    """A lock with an own file, whose layer keeps the directories of the base."""
    content = b"own file"
    digest = context.store.put(content).removeprefix("sha256:")
    file = OwnFile(path="/workspace/a", source="", sha256=digest, size=len(content), executable=False)
    return replace(lock, files=(file,))


def test_the_tree_of_a_base_is_unpacked_from_its_layer_in_the_cache(team: Team) -> None:
    team.filled(team.world.lock())
    context = team.machine("second")
    lock = with_file(team.world.lock(), context)
    image = run(lock, context, digests_only=True).images[0]
    assert image.made == {"files", "image"}
    assert (team.world.opened, team.world.fetched) == ([], [])
    there = team.world.ports("plain")
    assert image.image == one(with_file(lock, there), there).image


@pytest.mark.parametrize("fault", ["damaged", "gone", "lie"])
def test_a_tree_that_the_cache_does_not_give_is_made_from_its_packages(team: Team, fault: str) -> None:
    first = team.filled(team.world.lock())
    context = team.machine("second")
    match fault:
        case "damaged":
            team.registry.faults = [Fault(match=f"GET .*{blob_of(first, 'base')}", damage=True, times=99)]
        case "gone":
            del team.registry.blobs["cache", blob_of(first, "base")]
        case _:
            [other] = [each for each in first.image.layers if each.id == "interpreter"]
            lie(team, first, "base", digest=other.blob.digest, size=other.blob.size)
    made = run(with_file(team.world.lock(), context), context, digests_only=True).images[0]
    assert "files" in made.made
    assert len(team.world.opened) == 1


def test_libraries_are_stated_by_the_cache_for_the_layers_that_a_lock_names_and_for_no_others(team: Team) -> None:
    first = team.filled(team.world.lock())
    context = team.machine("second")
    lie(team, first, "links", digest=sha256(b"another layer"))
    named = {
        layer.key: LayerRecord(packed=Packed(digest=layer.blob.digest, size=layer.blob.size, diff_id=layer.diff_id))
        for layer in first.image.layers
    }
    found = with_libraries(named, context)
    assert {key: record.packed for key, record in found.items()} == {key: each.packed for key, each in named.items()}
    assert "libc.so.6" in found[key_of(first, "base")].brings
    assert found[key_of(first, "links")] == named[key_of(first, "links")]


def test_layers_that_the_lock_names_are_taken_from_any_named_repository_by_digest(team: Team) -> None:
    first = team.filled(team.world.lock())
    team.registry.manifests.clear()
    image = one(first.lock, team.machine("second", read=("nothing", "cache")))
    assert (image.image, image.made, team.world.fetched) == (first.image, frozenset(), [])


def test_layers_in_a_cache_of_the_same_registry_are_mounted_instead_of_fetched(team: Team) -> None:
    first = team.filled(team.world.lock())
    context = team.machine("second")
    cache = f"{team.registry.host}/cache"
    pushes = Pushes([team.place("team/tf")], lambda name: Push(team.client, name, context.store, mount_from=(cache,)))
    [image] = assemble([team.world.lock()], FORMAT, context, lambda _event: None, pushes=[pushes], whole=False).images
    [pushed] = pushes.finish(image.image)
    assert (pushed.digest, pushed.pushed_layers) == (first.image.manifest.descriptor.digest, 0)
    assert (team.world.fetched, list(context.store.entries())) == ([], [])
    assert team.registry.lines("GET .*/blobs/") == []


def test_an_empty_cache_changes_nothing(team: Team) -> None:
    image = one(team.world.lock(), team.machine("first"))
    assert image.image == one(team.world.lock(), team.world.ports("plain")).image
    assert team.said == []


@pytest.mark.parametrize(
    "fault", [Fault(match="/cache/", status=503, times=999), Fault(match="/cache/", status=403, times=999)]
)
def test_a_cache_that_does_not_answer_is_reported_once_and_the_layers_are_made(team: Team, fault: Fault) -> None:
    first = team.filled(team.world.lock())
    team.registry.faults = [fault]
    image = one(team.world.lock(), team.machine("second", write="cache"))
    assert image.image == first.image
    assert len(image.made) == len(image.image.layers)
    [told] = team.said
    assert told.startswith(f"the layer cache {team.registry.host}/cache is not used: ")


def test_a_cache_that_nobody_serves_ends_no_build(team: Team) -> None:
    image = one(team.world.lock(), team.machine("first", read=("127.0.0.1:1/cache",)))
    assert len(image.made) == len(image.image.layers)
    assert len(team.said) == 1


def test_wrong_bytes_are_refused_and_the_layer_is_made(team: Team) -> None:
    first = team.filled(team.world.lock())
    team.registry.faults = [Fault(match=f"GET .*{blob_of(first, 'packages')}", damage=True, times=99)]
    context = team.machine("second")
    image = one(team.world.lock(), context)
    assert (image.image, set(image.made)) == (first.image, {"packages"})
    assert context.store.read(blob_of(first, "packages"))
    assert any("not taken from the layer cache" in told for told in team.said)


def test_a_layer_that_the_cache_lost_is_made(team: Team) -> None:
    first = team.filled(team.world.lock())
    del team.registry.blobs["cache", blob_of(first, "own")]
    image = one(team.world.lock(), team.machine("second"))
    assert (image.image, set(image.made)) == (first.image, {"own"})


@pytest.mark.parametrize(
    "changes",
    [{"digest": sha256(b"nothing has this")}, {"size": 1}, {"size": 99_999_999}],
    ids=["digest", "less", "more"],
)
def test_a_false_statement_about_a_layer_is_found_out_and_the_layer_is_made(
    team: Team, changes: dict[str, str | int]
) -> None:
    first = team.filled(team.world.lock())
    lie(team, first, "packages", **changes)
    image = one(team.world.lock(), team.machine("second"))
    assert (image.image, set(image.made)) == (first.image, {"packages"})


def test_a_lie_that_another_layer_has_this_key_is_not_heard_where_the_lock_names_the_digest(team: Team) -> None:
    first = team.filled(team.world.lock())
    lie(team, first, "packages", digest=blob_of(first, "own"), size=size_of(first, "own"))
    image = one(first.lock, team.machine("second"))
    assert (image.image, image.is_confirmed) == (first.image, True)


@pytest.mark.parametrize("what", ["layer", "diff id"])
def test_a_lie_that_only_the_content_refutes_is_marked_and_is_exposed_by_making_the_layers(
    team: Team, what: str
) -> None:
    first = team.filled(team.world.lock())
    [other] = [each for each in first.image.layers if each.id == "own"]
    changes: dict[str, str | int] = {"digest": other.blob.digest, "size": other.blob.size} if what == "layer" else {}
    lie(team, first, "packages", diff_id=other.diff_id, **changes)
    believed = one(team.world.lock(), team.machine("second"))
    assert (believed.is_confirmed, believed.image == first.image) == (False, False)
    # What `reproduce` builds: the pins, without what anybody states about the layers.
    assert one(replace(believed.lock, image=None), team.world.ports("reproducing")).image == first.image


@pytest.mark.parametrize("content", [b"no json", b"{}", b'{"annotations":{"%s":"{}"}}' % RECORD.encode()])
def test_an_invalid_entry_is_reported_and_ignored(team: Team, content: bytes) -> None:
    first = team.filled(team.world.lock())
    tag = entry_tag(key_of(first, "packages"))
    team.registry.manifests["cache", tag] = ("application/vnd.oci.image.manifest.v1+json", content)
    image = one(team.world.lock(), team.machine("second"))
    assert (image.image, set(image.made)) == (first.image, {"packages"})
    assert team.said == [f"ignored {tag} of the layer cache {team.registry.host}/cache: it is invalid"]


def test_the_entry_of_another_key_is_ignored(team: Team) -> None:
    first = team.filled(team.world.lock())
    own, packages = (entry_tag(key_of(first, layer)) for layer in ("own", "packages"))
    team.registry.manifests["cache", packages] = team.registry.manifests["cache", own]
    assert one(team.world.lock(), team.machine("second")).made == {"packages"}


def test_only_the_named_repositories_are_asked_and_what_they_state_is_not_kept(team: Team) -> None:
    team.filled(team.world.lock())
    context = team.machine("second")
    one(team.world.lock(), context)
    assert all("/cache/" in line for line in team.registry.lines() if line != "GET /v2/")
    assert list(context.records.layer_digests()) == []


def test_two_builders_of_one_layer_write_the_same_entry(team: Team) -> None:
    lock = team.world.lock()
    with ThreadPoolExecutor() as pool:
        machines = [team.machine(name, read=(), write="cache") for name in ("one", "two")]
        images = list(pool.map(lambda machine: one(lock, machine), machines))
    assert images[0].image == images[1].image
    assert one(team.world.lock(), team.machine("third")).made == frozenset()
    digests = {
        sha256(content) for (name, tag), (_, content) in team.registry.manifests.items() if tag in team.entries()
    }
    assert len(digests) == len(team.entries())
    assert team.said == []


def test_an_entry_that_is_refused_while_another_builder_writes_its_blob_is_written_again(team: Team) -> None:
    team.registry.faults = [Fault(match="PUT .*/manifests/layer-", status=400)]
    image = one(team.world.lock(), team.machine("first", read=(), write="cache"))
    assert team.entries() == {entry_tag(layer.key) for layer in image.image.layers}
    assert team.said == []


def test_an_upload_that_is_killed_leaves_no_entry_and_the_next_build_adds_it(team: Team) -> None:
    team.registry.faults = [Fault(match="PATCH ", reset_after=1, times=999)]
    image = one(team.world.lock(), team.machine("first", read=(), write="cache"))
    assert len(image.made) == len(image.image.layers)
    assert (team.entries(), len(team.said)) == (set(), 1)
    team.registry.faults = []
    one(team.world.lock(), team.machine("first", read=(), write="cache"))
    assert team.entries() == {entry_tag(layer.key) for layer in image.image.layers}


def test_what_only_a_lock_states_is_not_added_to_a_cache(team: Team) -> None:
    first = team.filled(team.world.lock())
    team.registry.manifests.clear()
    one(first.lock, team.machine("second", write="other"))
    assert not any(name == "other" for name, _ in team.registry.manifests)


def test_what_is_in_the_cache_already_is_not_written_again(team: Team) -> None:
    team.filled(team.world.lock())
    one(team.world.lock(), team.machine("first", write="cache"))
    assert team.registry.lines("^(PUT|POST|PATCH)") == []
