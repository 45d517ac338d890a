"""What every engine promises to those who build, push and run through it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.digests import is_digest
from envbuilder.core.errors import BuildFailed, EngineError, SourceUnreachable, UsageError, VerificationFailed
from envbuilder.core.references import ImageRef
from envbuilder.image.builds import Builder, BuildEvent, StepFinished, StepOutput, StepStarted
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.runtime.command import Console, RunRequest
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import Transfer
from tests.contract.archives import save_archive
from tests.contract.conftest import World
from tests.contract.processes import gone, running
from tests.unit.oci.layout.images import file
from tests.unit.oci.layout.images import image as image_of_layers

pytestmark = pytest.mark.xdist_group("engine")

both_builders = pytest.mark.parametrize("builder", list(Builder))


def silent(_: BuildEvent) -> None:
    """A listener that does not care."""


def script(world: World, text: str, **changes: object) -> RunRequest:
    request = {"image": world.base, "command": ("/bin/sh", "-c", text), **changes}
    return RunRequest(**request)  # type: ignore[arg-type]


def test_the_engine_says_what_it_is(world: World) -> None:
    info = world.engine.info()
    assert info.name == "docker"
    assert info.version
    assert info.sessionless_buildkit


def test_an_image_that_is_not_there_is_none(world: World) -> None:
    assert world.engine.image(world.new_name()) is None


def test_a_loaded_image_is_found_by_name_and_by_id(world: World) -> None:
    image = world.engine.image(world.base)
    assert image is not None
    assert image.tags == (world.base,)
    assert image.label("base") == "tiny"
    assert len(image.diff_ids) == 1
    assert world.engine.image(image.id) == image


def test_an_archive_without_a_name_is_loaded_by_id(world: World, tmp_path: Path) -> None:
    archive = tmp_path / "nameless.tar"
    save_archive(archive, (), run=world.run)
    loaded = world.engine.load(archive)
    base = world.engine.image(world.base)
    assert base is not None
    assert loaded.id == base.id


def test_a_saved_image_is_the_one_that_is_loaded_again(world: World, tmp_path: Path) -> None:
    archive = tmp_path / "saved.tar"
    world.engine.save(world.base, archive)
    base = world.engine.image(world.base)
    assert base is not None
    assert world.engine.load(archive).diff_ids == base.diff_ids


def test_saving_what_is_not_there_is_an_engine_error(world: World, tmp_path: Path) -> None:
    with pytest.raises(EngineError):
        world.engine.save(world.new_name(), tmp_path / "saved.tar")


def test_an_archive_with_two_images_is_refused(world: World, tmp_path: Path) -> None:
    archive = tmp_path / "two.tar"
    save_archive(archive, (world.new_name(),), (world.new_name(),), run=world.run)
    with pytest.raises(UsageError, match="2 images"):
        world.engine.load(archive)


def test_an_archive_that_does_not_exist_is_refused(world: World, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="archive not found"):
        world.engine.load(tmp_path / "absent.tar")


def assembled(world: World, store: Store, *layers: str) -> AssembledImage:
    """An image with a file in each layer; its layers are no other test's."""
    members = [[file(name, world.run.encode() * 1000)] for name in layers]
    return image_of_layers(store, *members, config={"Labels": {"run": world.run}})


def test_an_assembled_image_is_taken_and_then_only_what_is_new(world: World, tmp_path: Path) -> None:
    store, names = Store(folder=tmp_path / "store"), (world.new_name(), world.new_name())
    words = [world.unique() for _ in range(3)]
    first = assembled(world, store, *words[:2])
    loaded = world.engine.load_image(first, store, names)
    assert loaded.image.id in {first.config.descriptor.digest, first.manifest.descriptor.digest}
    assert set(names) <= set(loaded.image.tags)
    assert loaded.image.diff_ids == tuple(layer.diff_id for layer in first.layers)
    assert (loaded.sent_layers, loaded.present_layers) == (2, 0)
    assert loaded.sent_bytes == sum(layer.blob.size for layer in first.layers)

    second = assembled(world, store, *words)
    added = world.engine.load_image(second, store, (names[0],))
    assert (added.sent_layers, added.present_layers) == (1, 2)
    assert added.sent_bytes == second.layers[2].blob.size
    moved = world.engine.image(names[0])
    assert moved is not None
    assert moved.id == added.image.id != loaded.image.id


def test_an_assembled_image_that_is_there_is_only_named(world: World, tmp_path: Path) -> None:
    store, name = Store(folder=tmp_path / "store"), world.new_name()
    image = assembled(world, store, world.unique())
    world.engine.load_image(image, store, ())
    again = world.engine.load_image(image, store, (name,))
    assert (again.sent_bytes, again.sent_layers, again.present_layers) == (0, 0, 1)
    assert name in again.image.tags


def test_layers_are_taken_from_below_only(world: World, tmp_path: Path) -> None:
    """A layer on top of other layers is another one to an engine, so it is sent."""
    store, words = Store(folder=tmp_path / "store"), [world.unique() for _ in range(2)]
    world.engine.load_image(assembled(world, store, *words), store, (world.new_name(),))
    turned = world.engine.load_image(assembled(world, store, *reversed(words)), store, (world.new_name(),))
    assert (turned.sent_layers, turned.present_layers) == (2, 0)


def test_an_assembled_image_that_is_damaged_is_not_taken(world: World, tmp_path: Path) -> None:
    store, name = Store(folder=tmp_path / "store"), world.new_name()
    image = assembled(world, store, world.unique())
    path = store.path(image.layers[0].blob.digest)
    path.chmod(0o644)
    path.write_bytes(b"damaged")
    with pytest.raises(VerificationFailed):
        world.engine.load_image(image, Store(folder=store.folder), (name,))
    with pytest.raises(VerificationFailed, match="not in the cache"):
        world.engine.load_image(image, Store(folder=store.folder), (name,))
    assert world.engine.image(name) is None


def test_a_tag_is_another_name_of_the_same_image(world: World) -> None:
    image = world.engine.image(world.base)
    assert image is not None
    name = world.new_name()
    world.engine.tag(image.id, ImageRef.parse(name))
    named = world.engine.image(name)
    assert named is not None
    assert named.id == image.id
    assert name in named.tags


def test_tagging_what_is_not_there_is_an_engine_error(world: World) -> None:
    with pytest.raises(EngineError):
        world.engine.tag(f"sha256:{'0' * 64}", ImageRef.parse(world.new_name()))


@both_builders
def test_a_build_gives_a_tagged_image_its_layers_and_its_steps(world: World, builder: Builder) -> None:
    word = world.unique()
    request = world.request(f"RUN echo {word} > /made", "LABEL made=yes", builder=builder, tags=2)
    result = world.engine.build(request, silent)
    assert set(request.tags) <= set(result.image.tags)
    assert world.engine.image(request.tags[0]) == result.image
    assert result.image.label("made") == "yes"
    assert result.image.label("base") == "tiny"
    assert len(result.layers) == len(result.image.diff_ids) == 2
    assert word in result.layers[-1].created_by
    assert any(word in step.name and not step.cached for step in result.steps)
    assert result.builder is builder


@both_builders
def test_a_listener_hears_each_step_and_its_output(world: World, builder: Builder) -> None:
    heard: list[BuildEvent] = []
    word = world.unique()
    world.engine.build(world.request(f"RUN echo said-{word}", builder=builder), heard.append)
    step = next(event.step for event in heard if isinstance(event, StepStarted) and word in event.step)
    assert StepOutput(step=step, text=f"said-{word}") in heard
    assert any(isinstance(event, StepFinished) and event.step == step and not event.error for event in heard)


@both_builders
def test_a_second_build_comes_from_the_cache_unless_told_otherwise(world: World, builder: Builder) -> None:
    request = world.request(f"RUN echo {world.unique()}", builder=builder)
    first = world.engine.build(request, silent)
    second = world.engine.build(request, silent)
    assert any("RUN" in step.name and step.cached for step in second.steps)
    assert second.image.id == first.image.id


@both_builders
def test_a_failing_step_is_named_with_its_output_and_leaves_no_tag(world: World, builder: Builder) -> None:
    word = world.unique()
    request = world.request(f"RUN echo before-{word}; echo reason-{word} >&2; exit 3", builder=builder)
    with pytest.raises(BuildFailed, match=f"reason-{word}") as caught:
        world.engine.build(request, silent)
    assert "RUN" in caught.value.step
    assert f"  | before-{word}" in caught.value.message
    assert world.engine.image(request.tags[0]) is None


@both_builders
def test_a_checksum_that_does_not_match_is_a_failed_verification(world: World, builder: Builder) -> None:
    line = "echo 'sha256sum: WARNING: 1 of 1 computed checksums did NOT match'"
    with pytest.raises(VerificationFailed, match="did NOT match"):
        world.engine.build(world.request(f"RUN {line} >&2; exit 1", builder=builder), silent)


@both_builders
def test_a_base_that_cannot_be_had_is_an_unreachable_source(world: World, builder: Builder) -> None:
    request = world.request(builder=builder)
    for name in ("Dockerfile", "Dockerfile.classic"):
        (request.folder / name).write_text("FROM 127.0.0.1:9/absent/base:1\nRUN true\n", encoding="utf-8")
    with pytest.raises(SourceUnreachable) as caught:
        world.engine.build(request, silent)
    assert "envbuilder base bootstrap" in caught.value.hint


def test_a_folder_without_a_dockerfile_is_refused(world: World) -> None:
    request = world.request()
    (request.folder / "Dockerfile").unlink()
    with pytest.raises(UsageError, match="Dockerfile"):
        world.engine.build(request, silent)


@both_builders
def test_an_interrupted_build_stops_and_leaves_no_tag(world: World, builder: Builder) -> None:
    word = world.unique()
    request = world.request(f"RUN echo started-{word}; sleep 120; echo after-{word}", builder=builder)
    seen_running: list[bool] = []

    def interrupt(event: BuildEvent) -> None:
        if isinstance(event, StepOutput) and f"started-{word}" in event.text:
            seen_running.append(running(word))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.engine.build(request, interrupt)
    assert seen_running == [world.real]
    assert gone(word)
    assert world.engine.image(request.tags[0]) is None


def test_an_interrupt_at_the_last_moment_leaves_no_tag(world: World) -> None:
    request = world.request(f"RUN echo {world.unique()}", tags=2)
    heard: list[BuildEvent] = []
    world.engine.build(request, heard.append)
    last = heard[-1]
    again = world.request(*request.folder.joinpath("Dockerfile").read_text(encoding="utf-8").splitlines()[1:])

    def interrupt(event: BuildEvent) -> None:
        if isinstance(last, StepFinished) and isinstance(event, StepFinished) and event.step == last.step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.engine.build(again, interrupt)
    assert world.engine.image(again.tags[0]) is None


@both_builders
def test_all_tags_are_given_or_none(world: World, builder: Builder) -> None:
    before = world.engine.image(world.base)
    assert before is not None
    taken, new, refused = world.new_name(), world.new_name(), f"envbuilder-test/{'a' * 300}:1"
    world.engine.tag(before.id, ImageRef.parse(taken))
    request = replace(world.request(f"RUN echo {world.unique()}", builder=builder), tags=(taken, new, refused))
    with pytest.raises(ValueError, match="is not an image reference"):
        world.engine.build(request, silent)
    kept = world.engine.image(taken)
    assert kept is not None
    assert kept.id == before.id
    assert world.engine.image(new) is None


def test_a_push_counts_layers_and_a_second_one_finds_them_present(world: World) -> None:
    host = world.open_registry()
    request = world.request(f"RUN echo {world.unique()} > /made")
    image = world.engine.build(request, silent).image
    reference = ImageRef.parse(world.new_name(host))
    world.engine.tag(image.id, reference)
    heard: list[BuildEvent] = []
    first = world.engine.push(reference, heard.append)
    assert is_digest(first.digest)
    assert first.pushed_layers + first.present_layers == len(image.diff_ids)
    assert first.pushed_layers >= 1
    assert first.pushed_bytes > 0
    assert any(isinstance(event, Transfer) for event in heard)
    second = world.engine.push(reference, silent)
    assert (second.pushed_layers, second.pushed_bytes) == (0, 0)
    assert second.present_layers == len(image.diff_ids)
    assert second.digest == first.digest == world.engine.registry_digest(reference)


def test_a_pull_by_digest_gives_the_image_that_was_pushed(world: World) -> None:
    host = world.open_registry()
    image = world.engine.build(world.request(f"RUN echo {world.unique()} > /made"), silent).image
    reference = ImageRef.parse(world.new_name(host))
    world.engine.tag(image.id, reference)
    digest = world.engine.push(reference, silent).digest
    pulled = world.engine.pull(ImageRef(repository=reference.repository, digest=digest), silent)
    assert pulled.id == image.id
    assert f"{reference.repository}@{digest}" in pulled.digests
    assert world.engine.pull(reference, silent).id == image.id


def test_a_registry_that_does_not_answer_is_an_unreachable_source(world: World) -> None:
    reference = ImageRef.parse(world.new_name("127.0.0.1:9"))
    image = world.engine.image(world.base)
    assert image is not None
    world.engine.tag(image.id, reference)
    with pytest.raises(SourceUnreachable):
        world.engine.registry_digest(reference)
    with pytest.raises(SourceUnreachable):
        world.engine.pull(reference, silent)
    with pytest.raises(SourceUnreachable):
        world.engine.push(reference, silent)


def test_an_image_that_its_registry_does_not_have_is_an_unreachable_source(world: World) -> None:
    reference = ImageRef.parse(world.new_name(world.open_registry()))
    with pytest.raises(SourceUnreachable):
        world.engine.registry_digest(reference)
    with pytest.raises(SourceUnreachable):
        world.engine.pull(reference, silent)


def test_pushing_what_is_not_there_is_an_engine_error(world: World) -> None:
    with pytest.raises(EngineError):
        world.engine.push(ImageRef.parse(world.new_name(world.open_registry())), silent)


def test_a_run_keeps_status_and_both_streams_apart(world: World) -> None:
    result = world.engine.run(script(world, "echo out; echo err >&2; exit 3"))
    assert (result.status, result.stdout, result.stderr) == (3, b"out\n", b"err\n")
    assert not result.timed_out
    assert result.copied is None


def test_a_run_sees_its_files_and_gives_one_back(world: World) -> None:
    files = (("/opt/deep/down/in.txt", b"given\n"), ("/tmp/second", b""))
    request = script(world, "cat /opt/deep/down/in.txt; echo made > /tmp/out", files=files, copy_out="/tmp/out")
    result = world.engine.run(request)
    assert result.stdout == b"given\n"
    assert result.copied == b"made\n"


def test_a_run_sees_what_is_mounted(world: World, tmp_path: Path) -> None:
    path = tmp_path / "mounted.txt"
    path.write_bytes(b"from the host\n")
    result = world.engine.run(script(world, "cat /mnt/in.txt", mounts=((str(path), "/mnt/in.txt"),)))
    assert result.stdout == b"from the host\n"


def test_a_file_that_the_run_did_not_make_is_none(world: World) -> None:
    assert world.engine.run(script(world, "true", copy_out="/tmp/absent")).copied is None


def test_a_run_that_takes_too_long_is_killed_and_says_so(world: World) -> None:
    # On a busy machine a container may need longer than this to begin.
    begun = b""
    for timeout in (1.5, 15, 150):
        result = world.engine.run(script(world, "echo begun; sleep 600", timeout=timeout))
        assert result.timed_out
        assert result.status == 137
        begun = result.stdout
        if begun:
            break
    assert begun == b"begun\n"


def test_a_program_that_the_image_lacks_is_status_127(world: World) -> None:
    result = world.engine.run(RunRequest(image=world.base, command=("no-such-program", "-V")))
    assert result.status == 127
    assert b"not found" in result.stderr


def test_running_an_image_that_is_not_there_is_an_engine_error(world: World) -> None:
    with pytest.raises(EngineError):
        world.engine.run(RunRequest(image=world.new_name(), command=("/bin/true",)))


def test_a_followed_run_hands_on_both_streams_and_gives_its_status(world: World) -> None:
    pieces: dict[int, bytes] = {1: b"", 2: b""}

    def collect(number: int, piece: bytes) -> None:
        pieces[number] += piece

    assert (
        world.engine.follow(script(world, "echo out; echo err >&2; exit 3", timeout=0.001), Console(output=collect))
        == 3
    )
    assert pieces == {1: b"out\n", 2: b"err\n"}


def test_a_followed_program_that_the_image_lacks_is_status_127_and_says_so(world: World) -> None:
    said: list[tuple[int, bytes]] = []
    request = RunRequest(image=world.base, command=("no-such-program", "-V"))
    assert world.engine.follow(request, Console(output=lambda number, piece: said.append((number, piece)))) == 127
    assert [number for number, _ in said] == [2]
    assert b"not found" in said[0][1]
