"""Locks become images whose digests depend on nothing but the locks, and each layer is made once."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.catalog.archives import ArchiveFormat
from envbuilder.catalog.environments import BaseKind
from envbuilder.core.errors import SourceUnreachable, ToolFailed, UsageError, VerificationFailed
from envbuilder.image.assemble import Assembled, Assembly, assemble
from envbuilder.image.base.tree_store import DebTree
from envbuilder.image.base_contents import TreeContent
from envbuilder.image.builds import BuildEvent, StepFinished
from envbuilder.image.layers.inputs import Base
from envbuilder.image.layers.ports import AssemblyContext
from envbuilder.image.plan.layers import WORTH_COMPILING
from envbuilder.lock.container_settings import ContainerSettings
from envbuilder.lock.lock import Lock, OsPackagePin, OwnFile, PackageGroup, ToolPin
from envbuilder.lock.lockfile import dump, load
from envbuilder.oci.images import ImagePin, LayerFormat
from envbuilder.oci.transfers import Transfer
from tests.fakes.run_files import EULA
from tests.fakes.vendor_archives import LIBRARY, TREE, archive_of, pin_of, sha256, with_archives
from tests.unit.image.layers.estargz_reader import LazyLayer
from tests.unit.image.layers.wheels import shared_library
from tests.unit.image.toys import World

OTHER = "sha256:" + "ab" * 32
SITE = "opt/venv/lib/python3.8/site-packages"
LAYERS = (
    "base",
    "interpreter",
    "framework.tensorflow-gpu",
    "packages",
    "links",
    "bytecode.tensorflow-gpu",
    "bytecode",
    "own",
    "image",
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(folder=tmp_path, libraries=("libc.so.6",))


def several(locks: Sequence[Lock], ports: AssemblyContext, *, digests_only: bool = False) -> Assembly:
    return assemble(locks, LayerFormat.GZIP_SPLICED, ports, lambda _event: None, digests_only=digests_only)


def one(lock: Lock, ports: AssemblyContext, *, digests_only: bool = False) -> Assembled:
    [image] = several([lock], ports, digests_only=digests_only).images
    return image


def pinned(image: Assembled) -> ImagePin:
    assert image.lock.image is not None
    return image.lock.image


def paths(image: Assembled, layer: str, ports: AssemblyContext) -> set[str]:
    [pin] = [each for each in image.image.layers if each.id == layer]
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(ports.store.read(pin.blob.digest)))) as archive:
        return set(archive.getnames())


def test_every_layer_of_the_plan_is_there_and_is_what_it_says(world: World) -> None:
    ports = world.ports("here")
    image = one(world.lock(), ports)
    assert tuple(layer.id for layer in image.image.layers) == LAYERS
    assert image.made == set(LAYERS)
    assert image.image.layers[0].diff_id == image.lock.base.digest
    for layer in image.image.layers:
        content = ports.store.read(layer.blob.digest)
        assert layer.blob.size == len(content)
        assert layer.diff_id == f"sha256:{hashlib.sha256(gzip.decompress(content)).hexdigest()}"
    assert f"{SITE}/six/data.txt" in paths(image, "own", ports)
    assert "usr/lib/x86_64-linux-gnu/libcusolver.so.10" in paths(image, "links", ports)
    assert {"opt/python/bin/python3.8", "etc/passwd", "workspace"} <= paths(image, "interpreter", ports)
    assert {"opt/envbuilder/envbuilder.lock", "opt/envbuilder/probe.py"} <= paths(image, "image", ports)


def test_the_memory_hook_and_its_line_are_in_images_whose_lock_names_it(world: World) -> None:
    ports, hook = world.ports("here"), {"opt/envbuilder/memory_hook.py", f"{SITE}/envbuilder_memory.pth"}
    assert not hook & paths(one(replace(world.lock(), tools=()), ports), "image", ports)
    named = replace(world.lock(), tools=(ToolPin(name="memory-hook", version="1", sha256="0" * 64),))
    assert hook <= paths(one(named, ports), "image", ports)


def test_two_machines_make_the_same_image_however_many_layers_at_once(world: World) -> None:
    images = [one(world.lock(), world.ports(f"with-{jobs}", jobs=jobs)) for jobs in (1, 7)]
    assert pinned(images[0]) == pinned(images[1])
    assert images[0].image == images[1].image


def sources_of(size: int) -> dict[str, bytes]:
    """A package with this many bytes of Python."""
    return {"six/a.py": b"#" * (size - 1), "six/b.py": b"#", "six/data.bin": b"#" * WORTH_COMPILING}


def test_small_own_packages_have_no_bytecode_and_need_no_interpreter(world: World) -> None:
    ports = world.ports("here")
    image = one(world.lock(world.pin("six", sources_of(WORTH_COMPILING - 1), PackageGroup.OWN)), ports)
    assert {f"{SITE}/six/a.py", f"{SITE}/six/b.py"} <= paths(image, "own", ports)
    assert not [path for path in paths(image, "own", ports) if path.endswith(".pyc")]


def test_larger_own_packages_are_compiled(world: World) -> None:
    large = world.lock(world.pin("six", sources_of(WORTH_COMPILING), PackageGroup.OWN))
    with pytest.raises(ToolFailed):
        one(large, world.ports("here"))


def test_another_packing_has_the_same_tars_inside(world: World) -> None:
    spliced = one(world.lock(), world.ports("one"))
    [plain] = assemble([world.lock()], LayerFormat.TAR, world.ports("two"), lambda _event: None).images
    assert [layer.diff_id for layer in plain.image.layers] == [layer.diff_id for layer in spliced.image.layers]
    assert pinned(plain).manifest != pinned(spliced).manifest


def test_a_layer_of_two_locks_is_made_once_and_its_files_are_fetched_once(world: World) -> None:
    locks = [world.lock(world.own(b"a", "six")), world.lock(world.own(b"b", "attrs"))]
    ports = world.ports("here")
    done = several(locks, ports)
    first, second = ([layer.blob.digest for layer in image.image.layers] for image in done.images)
    assert sum(one == other for one, other in zip(first, second, strict=True)) == len(LAYERS) - 2
    names = [step.name for step in done.steps]
    assert names.count("tensorflow-gpu 2.4.4") == 1
    assert names.count("own packages") == 2
    assert sorted(world.fetched) == sorted({pin.file for lock in locks for pin in lock.packages})
    assert done.fetched == sum({pin.sha256: pin.size for lock in locks for pin in lock.packages}.values())


def test_what_was_made_is_not_made_again(world: World) -> None:
    first = one(world.lock(), world.ports("here"))
    world.fetched.clear()
    again = several([world.lock()], world.ports("here"))
    assert again.images[0].made == frozenset()
    assert (again.steps, again.fetched, world.fetched) == ((), 0, [])
    assert again.images[0].image == first.image


def test_only_what_an_own_package_touches_is_made_anew(world: World) -> None:
    one(world.lock(world.own(b"a")), world.ports("here"))
    changed = one(world.lock(world.own(b"b")), world.ports("here"))
    assert changed.made == {"own", "image"}


def test_own_files_lie_in_a_layer_of_their_own_and_leave_folders_as_they_are(world: World) -> None:
    ports = world.ports("here")
    content = b"print(1)"
    file = OwnFile(
        path="/workspace/sub/train.py", sha256=ports.store.put(content).removeprefix("sha256:"), size=len(content)
    )
    one(world.lock(), ports)
    image = one(replace(world.lock(), files=(file,)), ports)
    assert image.made == {"files", "image"}
    [pin] = [each for each in image.image.layers if each.id == "files"]
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(ports.store.read(pin.blob.digest)))) as archive:
        found = {member.name: (member.uid, oct(member.mode)) for member in archive}
        assert archive.extractfile("workspace/sub/train.py").read() == content  # type: ignore[union-attr]
    user = world.lock().user.uid
    assert found == {
        "workspace": (user, "0o755"),
        "workspace/sub": (0, "0o755"),
        "workspace/sub/train.py": (0, "0o644"),
    }


def test_a_working_directory_that_the_image_lacks_is_made_and_belongs_to_its_user(world: World) -> None:
    ports = world.ports("here")
    content = b"print(1)"
    file = OwnFile(path="/srv/model/a.py", sha256=ports.store.put(content).removeprefix("sha256:"), size=len(content))
    lock = replace(world.lock(), files=(file,), settings=ContainerSettings(workdir="/srv/model"))
    [pin] = [each for each in one(lock, ports).image.layers if each.id == "files"]
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(ports.store.read(pin.blob.digest)))) as archive:
        found = {member.name: (member.uid, oct(member.mode)) for member in archive}
    user = world.lock().user.uid
    assert found == {"srv": (0, "0o755"), "srv/model": (user, "0o755"), "srv/model/a.py": (0, "0o644")}


@pytest.mark.parametrize("workdir", ["", "/workspace"])
def test_a_working_directory_that_every_image_has_takes_no_layer(world: World, workdir: str) -> None:
    image = one(replace(world.lock(), settings=ContainerSettings(workdir=workdir)), world.ports("here"))
    assert "files" not in {layer.id for layer in image.image.layers}


def test_a_working_directory_of_the_base_keeps_its_owner(world: World) -> None:
    ports = world.ports("here")
    image = one(replace(world.lock(), settings=ContainerSettings(workdir="/etc")), ports)
    [pin] = [each for each in image.image.layers if each.id == "files"]
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(ports.store.read(pin.blob.digest)))) as archive:
        assert not archive.getnames()


def test_a_working_directory_below_a_file_of_the_base_is_refused(world: World) -> None:
    with pytest.raises(VerificationFailed, match="/etc/passwd in the base is not a directory"):
        one(replace(world.lock(), settings=ContainerSettings(workdir="/etc/passwd/x")), world.ports("here"))


def test_an_own_file_that_is_not_here_says_where_it_could_be(world: World) -> None:
    file = OwnFile(path="/workspace/train.py", sha256="a" * 64, size=1)
    with pytest.raises(SourceUnreachable, match=r"/workspace/train\.py") as caught:
        one(replace(world.lock(), files=(file,)), world.ports("here"))
    assert "--bundle" in caught.value.hint


def test_a_layer_that_was_removed_is_made_again_as_it_was(world: World) -> None:
    ports = world.ports("here")
    first = one(world.lock(), ports)
    [layer] = [each for each in first.image.layers if each.id == "packages"]
    ports.store.remove(layer.blob.digest)
    again = one(first.lock, world.ports("here"))
    assert again.made == {"packages"}
    assert ports.store.has(layer.blob.digest)


def test_a_lock_that_names_other_layers_is_refused_with_their_names(world: World) -> None:
    image = one(world.lock(), world.ports("one"))
    pin = pinned(image)
    layers = tuple(
        replace(layer, key=OTHER, diff_id=OTHER) if layer.id in {"own", "packages"} else layer for layer in pin.layers
    )
    lock = replace(image.lock, image=replace(pin, layers=layers, manifest=OTHER))
    with pytest.raises(VerificationFailed, match="they differ in layers packages, own") as caught:
        one(lock, world.ports("two"))
    assert "envbuilder lock" in caught.value.hint


def test_a_lock_whose_layer_became_something_else_is_refused(world: World) -> None:
    image = one(world.lock(), world.ports("one"))
    pin = pinned(image)
    layers = tuple(replace(layer, diff_id=OTHER) if layer.id == "base" else layer for layer in pin.layers)
    with pytest.raises(VerificationFailed, match=r"layer base: .*the lock has"):
        one(replace(image.lock, image=replace(pin, layers=layers)), world.ports("two"))


def test_a_lock_with_another_manifest_alone_differs_in_its_configuration(world: World) -> None:
    image = one(world.lock(), world.ports("one"))
    lock = replace(image.lock, image=replace(pinned(image), manifest=OTHER))
    with pytest.raises(VerificationFailed, match="they differ in its configuration"):
        one(lock, world.ports("two"))


def test_an_image_in_another_packing_is_not_compared(world: World) -> None:
    image = one(world.lock(), world.ports("one"))
    other = replace(pinned(image), format=LayerFormat.TAR, manifest=OTHER)
    assert pinned(one(replace(image.lock, image=other), world.ports("two"))) == pinned(image)


@pytest.mark.parametrize("kind", ["in the image", "for a build"])
def test_os_packages_on_a_registry_image_are_refused_before_anything_is_fetched(world: World, kind: str) -> None:
    lock = world.lock()
    base = replace(lock.base, kind=BaseKind.IMAGE, image="team/base:1", packages=())
    compiler = OsPackagePin(name="gcc", version="12", sha256="cd" * 32)
    if kind == "in the image":
        lock = replace(lock, base=base, os_packages=(compiler,))
    else:
        tool = replace(world.own(b"", "hatchling"), group=PackageGroup.OWN_BUILD)
        source = replace(world.own(b"own"), file="six-1.0.tar.gz")
        pins = (*(pin for pin in lock.packages if pin.group is not PackageGroup.OWN), source, tool)
        lock = replace(lock, base=base, packages=pins, build_os_packages=(compiler,))
    with pytest.raises(UsageError, match="require a container engine, whose apt installs them: gcc"):
        one(lock, world.ports("first"))
    assert not world.fetched
    assert not world.opened


def test_a_damaged_wheel_is_refused_and_gone_and_nothing_is_tagged(world: World) -> None:
    lock = world.lock()
    [wheel] = [pin for pin in lock.packages if pin.name == "numpy"]
    ports = world.ports("here")
    ports.store.take(world.index / wheel.file)
    world.damage("here", f"sha256:{wheel.sha256}")
    ports = world.ports("here")
    with pytest.raises(VerificationFailed, match="was damaged"):
        one(lock, ports)
    assert not list(ports.records.images())
    assert not ports.store.has(f"sha256:{wheel.sha256}")
    assert pinned(one(lock, world.ports("here"))) == pinned(one(lock, world.ports("elsewhere")))


def test_a_missing_library_is_refused_with_the_package_that_brings_it(world: World) -> None:
    files = {"toy/lib.so": shared_library(("libgomp.so.1", "libc.so.6", "libcuda.so.1"))}
    lock = world.lock(world.pin("toy", files, PackageGroup.OWN))
    with pytest.raises(VerificationFailed, match=r"libgomp\.so\.1 \(package libgomp1\)") as caught:
        one(lock, world.ports("here"))
    assert "libc.so.6" not in caught.value.message
    assert "`apt: [libgomp1]`" in caught.value.hint


def test_a_library_of_which_nobody_knows_the_package_is_a_note(world: World, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with_library = World(folder=tmp_path / "other", libraries=("libtoy.so.1",))
    for each, is_noted in ((world, True), (with_library, False)):
        lock = each.lock(each.pin("toy", {"toy/lib.so": shared_library(("libtoy.so.1",))}, PackageGroup.OWN))
        noted = [note.startswith("libtoy.so.1 is required by") for note in one(lock, each.ports("here")).notes]
        assert noted == [True] * is_noted


def test_a_library_that_another_distribution_brings_is_not_missing(world: World) -> None:
    lock = world.lock(
        world.pin("toy", {"toy/lib.so": shared_library(("libgomp.so.1",))}, PackageGroup.OWN),
        world.pin("other", {"other/libgomp.so.1": shared_library(())}, PackageGroup.OWN),
    )
    assert one(lock, world.ports("here")).notes == ()


def test_a_path_that_two_distributions_have_is_a_note(world: World) -> None:
    lock = world.lock(
        world.pin("one", {"same.txt": b"1"}, PackageGroup.OWN), world.pin("two", {"same.txt": b"22"}, PackageGroup.OWN)
    )
    [note] = one(lock, world.ports("here")).notes
    assert "same.txt is in one-1.0-py3-none-any.whl and in two-1.0-py3-none-any.whl" in note


def test_a_file_that_cannot_be_had_is_said_and_its_layers_are_not_kept(world: World) -> None:
    lock = world.lock()
    [wheel] = [pin for pin in lock.packages if pin.name == "six"]
    world.unreachable.add(wheel.file)
    ports = world.ports("here")
    with pytest.raises(SourceUnreachable, match="six"):
        one(lock, ports)
    assert not list(ports.records.images())
    assert not list(ports.work.iterdir())
    world.unreachable.clear()
    image = one(lock, world.ports("here"))
    assert "own" in image.made
    assert pinned(image) == pinned(one(lock, world.ports("elsewhere")))


def test_digests_of_known_layers_need_no_file(world: World) -> None:
    image = one(world.lock(), world.ports("here"))
    world.fetched.clear()
    world.opened.clear()
    ports = world.ports("elsewhere")
    again = several([image.lock], ports, digests_only=True)
    assert again.images[0].image == image.image
    assert (again.images[0].made, again.steps, world.fetched, world.opened) == (frozenset(), (), [], [])
    assert not list(ports.store.entries())


def test_an_image_that_starts_lazily_is_verified_by_its_manifest_which_follows_from_the_lock(world: World) -> None:
    ports = world.ports("here")
    [image] = assemble([world.lock()], LayerFormat.ESTARGZ, ports, lambda _event: None).images
    layers = json.loads(image.image.manifest.content)["layers"]
    prefetched = {"interpreter", "bytecode.tensorflow-gpu", "bytecode"}
    for name, layer in zip(LAYERS, layers, strict=True):
        assert layer["mediaType"] == "application/vnd.oci.image.layer.v1.tar+gzip"
        contents = layer["annotations"]["containerd.io/snapshot/stargz/toc.digest"]
        landmark = ".prefetch.landmark" if name in prefetched else ".no.prefetch.landmark"
        assert LazyLayer(ports.store.read(layer["digest"]), contents).read(landmark) == b"\x0f"

    lock = load(dump(image.lock), "envbuilder.lock")
    again = assemble([lock], LayerFormat.ESTARGZ, world.ports("there"), lambda _event: None, digests_only=True)
    assert (again.images[0].image, again.images[0].made) == (image.image, frozenset())


def test_listed_files_are_first_in_their_layer_and_other_layers_stay_as_they_are(world: World) -> None:
    ports, own = world.ports("here"), world.own(b"x" * 5000, "mine")
    before = assemble([world.lock(own)], LayerFormat.ESTARGZ, ports, lambda _event: None).images[0]
    [path] = [path for path in paths(before, "own", ports) if path.endswith("/METADATA")]
    listed = (("interpreter", ("/nowhere",)), ("own", (f"/{path}", "/opt/none")), ("packages.gone", ("/opt/x",)))
    lock = replace(world.lock(own), prioritized_files=listed)
    image = assemble([lock], LayerFormat.ESTARGZ, ports, lambda _event: None).images[0]

    assert image.made == {"interpreter", "own", "image"}
    [layer] = [layer for layer in image.image.layers if layer.id == "own"]
    names = [each["name"] for each in LazyLayer(ports.store.read(layer.blob.digest), layer.contents).entries]
    assert names.index(path) == names.index(".prefetch.landmark") - 1
    assert image.notes == (
        "`prioritized_files` names the layer packages.gone, which is not made for this image: record the reads again",
        "the layer interpreter lacks 1 of `prioritized_files`, such as /nowhere: record the reads again",
        "the layer own lacks 1 of `prioritized_files`, such as /opt/none: record the reads again",
    )
    # Other formats have no order, so that a list changes the lock in the image alone.
    plain = one(world.lock(own), ports)
    assert plain.notes == one(lock, ports).notes == ()
    assert one(lock, ports).made <= {"image"}


def test_digests_of_a_changed_lock_need_only_what_changed(world: World) -> None:
    before = one(world.lock(world.own(b"a")), world.ports("here"))
    world.fetched.clear()
    changed = replace(world.lock(world.own(b"b", "attrs")), image=before.lock.image)
    image = one(replace(changed, image=replace(pinned(before), format=LayerFormat.TAR)), world.ports("here"))
    assert image.made == {"own", "image"}
    assert world.fetched == ["attrs-1.0-py3-none-any.whl"]


def test_layers_of_wheels_are_made_while_the_base_is_fetched(world: World) -> None:
    wheel_made = threading.Event()

    class SlowBases:
        def open(self, _lock: Lock, _fetch_tree: Callable[[], None]) -> Base:
            return Base(content=TreeContent(self.find_tree))

        def find_tree(self) -> DebTree:
            assert wheel_made.wait(60)
            return world.tree()

    def listen(event: BuildEvent) -> None:
        if isinstance(event, StepFinished) and event.step == "tensorflow-gpu 2.4.4":
            wheel_made.set()

    ports = replace(world.ports("here", jobs=1), bases=SlowBases())
    assemble([world.lock()], LayerFormat.GZIP_SPLICED, ports, listen)


def test_steps_and_bytes_are_told(world: World) -> None:
    told: list[BuildEvent] = []
    done = assemble([world.lock()], LayerFormat.GZIP_SPLICED, world.ports("here"), told.append)
    finished = [event.step for event in told if isinstance(event, StepFinished)]
    assert sorted(finished) == sorted(step.name for step in done.steps)
    assert "files to download: 4" in finished
    last = [event for event in told if isinstance(event, Transfer)][-1]
    assert last.current == last.total == done.fetched


@pytest.mark.parametrize("cached", [False, True])
def test_an_own_package_that_replaces_code_of_the_environment_is_refused_unless_the_spec_allows_it(
    world: World, cached: bool
) -> None:
    path = f"{SITE}/tensorflow/libtf.so"
    tensorflow = {"tensorflow/libtf.so": shared_library(())}
    evil = world.pin("evil", {"tensorflow/libtf.so": shared_library((), padding=8)}, PackageGroup.OWN)
    plain = world.lock(evil)
    pins = (world.pin("tensorflow-gpu", tensorflow, PackageGroup.FRAMEWORK, "2.4.4"), *plain.packages[2:])
    lock = replace(plain, packages=pins)
    ports = world.ports("here")
    if cached:
        one(replace(lock, packages=(*pins[:-1], world.own(b"own"))), ports)
    allowed = one(replace(lock, allow=(f"/{path}",)), world.ports("allowing"))
    assert any("evil" in note for note in allowed.notes)
    for _ in range(2):
        with pytest.raises(VerificationFailed, match=rf"layer own: .* replaces /{path} of tensorflow_gpu"):
            one(lock, ports)


def test_a_layer_that_one_spec_allows_is_not_taken_for_a_lock_that_does_not(world: World) -> None:
    points = b"[console_scripts]\nenv = evil:main\n"
    evil = world.pin("evil", {"evil-1.0.dist-info/entry_points.txt": points}, PackageGroup.OWN)
    ports = world.ports("here")
    one(replace(world.lock(evil), allow=("/opt/venv/bin/env",)), ports)
    with pytest.raises(VerificationFailed, match="hides the program 'env'"):
        one(world.lock(evil), ports)


def test_a_wheel_of_another_distribution_than_its_pin_is_refused(world: World) -> None:
    evil = replace(world.own(b"x", "attrs"), name="six")
    with pytest.raises(VerificationFailed, match=r"attrs-1\.0\.dist-info is of 'attrs' '1\.0', the lock has six 1\.0"):
        one(world.lock(evil), world.ports("here"))


@pytest.mark.parametrize("path", ["/workspace", "/etc", "/home"])
def test_an_own_file_in_place_of_a_folder_is_refused(world: World, path: str) -> None:
    ports = world.ports("here")
    digest = hashlib.sha256(b"x").hexdigest()
    ports.store.put(b"x")
    lock = replace(world.lock(), files=(OwnFile(path=path, sha256=digest, size=1),))
    with pytest.raises(VerificationFailed, match=rf"{path} is in `files:` and is a directory of the image"):
        one(lock, ports)


ARCHIVE = archive_of(ArchiveFormat.MAKESELF_NESTED)
ARCHIVE_PIN = pin_of(ARCHIVE, ArchiveFormat.MAKESELF_NESTED)
OF_ARCHIVE = f"libraries.{ARCHIVE_PIN.id}"


def content_of(image: Assembled, layer: str, ports: AssemblyContext) -> dict[str, bytes | str]:
    """Files and links of a layer."""
    [pin] = [each for each in image.image.layers if each.id == layer]
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(ports.store.read(pin.blob.digest)))) as archive:
        files = {each.name: archive.extractfile(each) for each in archive if each.isreg()}
        links: dict[str, bytes | str] = {each.name: each.linkname for each in archive if each.issym()}
        return links | {name: file.read() for name, file in files.items() if file}


def test_libraries_of_an_archive_are_a_layer_with_their_links_and_license(world: World) -> None:
    world.archives[ARCHIVE_PIN.id] = ARCHIVE
    ports = world.ports("here")
    image = one(with_archives(world.lock(), ARCHIVE_PIN), ports)
    assert [layer.id for layer in image.image.layers][:3] == ["base", "interpreter", OF_ARCHIVE]
    assert content_of(image, OF_ARCHIVE, ports) == {
        "usr/lib/x86_64-linux-gnu/libx.so.9.0": LIBRARY,
        "usr/lib/x86_64-linux-gnu/liby.so.9.0": "liby.so.9.0.1",
        "usr/lib/x86_64-linux-gnu/liby.so.9.0.1": LIBRARY[::-1],
        "usr/share/doc/envbuilder/cuda-9.0.176-runfile/EULA.txt": EULA,
    }


def test_the_layer_is_the_same_if_the_libraries_come_from_another_archive(world: World) -> None:
    known = {"libx.so.9.0": sha256(LIBRARY), "liby.so.9.0": sha256(LIBRARY[::-1])}
    pin = pin_of(ARCHIVE, ArchiveFormat.MAKESELF_NESTED, hashes=known, eula="")
    wheel = archive_of(ArchiveFormat.WHEEL)
    of_wheel = pin_of(wheel, ArchiveFormat.WHEEL, name="cntk-gpu", eula="")
    world.archives[pin.id] = ARCHIVE
    first = one(with_archives(world.lock(), pin), world.ports("here"))
    ports = world.ports("there")
    ports.store.put(wheel)
    ports.archives.libraries(of_wheel)
    world.archives.clear()
    assert one(with_archives(world.lock(), pin), ports).image == first.image


def test_an_archive_is_fetched_only_for_a_layer_that_has_to_be_made(world: World) -> None:
    world.archives[ARCHIVE_PIN.id] = ARCHIVE
    ports = world.ports("here")
    one(with_archives(world.lock(), ARCHIVE_PIN), ports)
    assert world.fetched.count(ARCHIVE_PIN.file) == 1
    ports.store.remove(f"sha256:{ARCHIVE_PIN.sha256}")
    one(with_archives(world.lock(world.own(b"new")), ARCHIVE_PIN), ports)
    assert world.fetched.count(ARCHIVE_PIN.file) == 1


def test_an_archive_that_cannot_be_fetched_stops_the_build(world: World) -> None:
    with pytest.raises(SourceUnreachable, match=ARCHIVE_PIN.file):
        one(with_archives(world.lock(), ARCHIVE_PIN), world.ports("here"))


def test_another_archive_under_the_pinned_hash_is_not_opened(world: World) -> None:
    world.archives[ARCHIVE_PIN.id] = ARCHIVE
    ports = world.ports("here")
    ports.store.put(ARCHIVE)
    world.damage("here", f"sha256:{ARCHIVE_PIN.sha256}")
    with pytest.raises(VerificationFailed, match="damaged"):
        one(with_archives(world.lock(), ARCHIVE_PIN), world.ports("here"))


def test_libraries_that_those_of_an_archive_need_are_missed(world: World) -> None:
    content = archive_of(ArchiveFormat.TAR_GZIP, {**TREE, "lib64/libx.so.9.0.176": shared_library(("libgomp.so.1",))})
    pin = pin_of(content, ArchiveFormat.TAR_GZIP)
    world.archives[pin.id] = content
    with pytest.raises(VerificationFailed, match=r"libgomp\.so\.1 \(package libgomp1\)"):
        one(with_archives(world.lock(), pin), world.ports("here"))
