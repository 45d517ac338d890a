"""What we write, read by the programs of others."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from envbuilder.core.references import ImageRef
from envbuilder.image.docker.engine import connect
from envbuilder.image.layers.estargz import LARGEST_CHUNK, Prefetch
from envbuilder.image.layers.layer_writer import write_tar
from envbuilder.image.running.host_gpus import HostGpus
from envbuilder.image.running.image_runner import ImageRunner
from envbuilder.oci.images import AssembledImage, Descriptor, ImageLayerPin, LayerFormat
from envbuilder.oci.layout.archive import write_archive
from envbuilder.oci.layout.directory import write_layout
from envbuilder.oci.layout.rootfs import unpack
from envbuilder.oci.layout.squashfs import write_squashfs
from envbuilder.oci.layout.stored_images import read_layout
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.runtime.command import RunRequest
from envbuilder.oci.runtime.sandbox import Sandbox
from envbuilder.oci.runtime.selection import choose
from envbuilder.oci.store import Store
from tests.contract.conftest import REQUIRED, World, on_docker
from tests.fakes.following import following
from tests.fakes.pushing import push
from tests.unit.oci.layout.images import Members, file, folder, hardlink, image, image_of_pins, symlink, tar_of

pytestmark = pytest.mark.xdist_group("engine")

_BUSYBOX = Path("/bin/busybox")
CONFIG = {"Env": ["PATH=/bin", "A=b"], "Cmd": ["/bin/sh"], "Labels": {"word": "said"}}


def program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if found is None:
        (pytest.fail if REQUIRED else pytest.skip)(f"{name} is not installed")
    return found


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(folder=tmp_path / "store")


def layers() -> tuple[Members, Members]:
    base = [
        folder("bin"),
        file("bin/busybox", _BUSYBOX.read_bytes(), mode=0o755),
        *(symlink(f"bin/{applet}", "busybox") for applet in ("sh", "cat", "echo")),
        folder("etc"),
        file("etc/gone", b"x"),
        file("etc/kept", b"kept\n"),
        folder("opaque"),
        file("opaque/below", b"x"),
    ]
    upper = [
        file("etc/.wh.gone"),
        folder("opaque"),
        file("opaque/.wh..wh..opq"),
        file("opaque/above", b"above\n"),
        file("one", b"shared\n"),
        hardlink("two", "one"),
        file("/".join(["d" * 90] * 3), b"deep\n"),
    ]
    return base, upper


@pytest.fixture
def made(store: Store) -> AssembledImage:
    return image(store, *layers(), config=CONFIG, bill=b'{"spdxVersion": "SPDX-2.3"}')


def expected(tree: Path) -> None:
    assert (tree / "etc/kept").read_text() == "kept\n"
    assert not (tree / "etc/gone").exists()
    assert [path.name for path in (tree / "opaque").iterdir()] == ["above"]
    assert (tree / "one").samefile(tree / "two")
    assert (tree / "/".join(["d" * 90] * 3)).read_text() == "deep\n"


@pytest.mark.parametrize("form", ["oci", "oci-archive"])
def test_skopeo_reads_what_we_write(form: str, made: AssembledImage, store: Store, tmp_path: Path) -> None:
    place = tmp_path / "there"
    (write_layout if form == "oci" else write_archive)(made, store, place, ("tf:1",))
    told = json.loads(output(program("skopeo"), "inspect", f"{form}:{place}:tf:1"))
    assert told["Digest"] == made.manifest.descriptor.digest
    assert told["Layers"] == [layer.blob.digest for layer in made.layers]
    assert told["Labels"] == {"word": "said"}


def test_what_skopeo_writes_is_read(made: AssembledImage, store: Store, tmp_path: Path) -> None:
    """A layout, and an archive as `docker save` writes it, with the same layers."""
    write_layout(made, store, tmp_path / "there", ("tf:1",))
    source = f"oci:{tmp_path}/there:tf:1"
    output(program("skopeo"), "--insecure-policy", "copy", source, f"docker-archive:{tmp_path}/docker.tar:tf:1")
    archived = read_layout(tmp_path / "docker.tar", "tf:1")
    assert archived.config.descriptor.digest == made.config.descriptor.digest
    assert [layer.digest for layer in archived.layers] == [layer.diff_id for layer in made.layers]
    output(program("skopeo"), "--insecure-policy", "copy", source, f"oci:{tmp_path}/again:x")
    again = read_layout(tmp_path / "again", "x")
    assert again.manifest == made.manifest
    assert again.layers == tuple(layer.blob for layer in made.layers)


def test_umoci_unpacks_what_we_write(made: AssembledImage, store: Store, tmp_path: Path) -> None:
    write_layout(made, store, tmp_path / "there", ("one",))
    source, bundle = f"{tmp_path}/there:one", tmp_path / "bundle"
    output(program("umoci"), "unpack", "--rootless", "--image", source, str(bundle))
    expected(bundle / "rootfs")


def lazy_image(
    store: Store,
    folder: Path,
    *members: Members,
    config: Mapping[str, object] = CONFIG,
    first: frozenset[str] = frozenset(),
) -> AssembledImage:
    """An image in the format estargz, with the files of a list first."""
    pins = []
    for number, each in enumerate(members):
        tar = folder / f"{number}.tar"
        tar.write_bytes(tar_of(each))
        packed = write_tar(tar, store, LayerFormat.ESTARGZ, prefetch=Prefetch(files=first))
        blob = Descriptor(media_type=LayerFormat.ESTARGZ.media_type, digest=packed.digest, size=packed.size)
        pin = ImageLayerPin(id=tar.name, key=blob.digest, diff_id=packed.diff_id, blob=blob, contents=packed.contents)
        pins.append(pin)
    return image_of_pins(tuple(pins), config)


@pytest.mark.parametrize("first", [frozenset[str](), frozenset({"/etc/gone", "/etc/kept", "/two"})])
def test_layers_that_start_lazily_are_ordinary_layers(store: Store, tmp_path: Path, first: frozenset[str]) -> None:
    made = lazy_image(store, tmp_path, *layers(), first=first)
    write_layout(made, store, tmp_path / "there", ("one",))

    output(program("skopeo"), "--insecure-policy", "copy", f"oci:{tmp_path}/there:one", f"oci:{tmp_path}/again:two")
    assert read_layout(tmp_path / "again", "two").manifest == made.manifest
    output(program("umoci"), "unpack", "--rootless", "--image", f"{tmp_path}/again:two", f"{tmp_path}/bundle")
    tree = tmp_path / "bundle" / "rootfs"
    expected(tree)
    names = {path.name for path in tree.iterdir()} - {"bin", "etc", "opaque", "one", "two", "d" * 90}
    landmarks = {".prefetch.landmark" if first else ".no.prefetch.landmark"}
    assert names - landmarks <= {"stargz.index.json", ".no.prefetch.landmark"}
    assert landmarks < names


def test_what_umoci_writes_is_read_beside_ours(made: AssembledImage, store: Store, tmp_path: Path) -> None:
    write_layout(made, store, tmp_path / "there", ("one",))
    output(program("umoci"), "config", "--image", f"{tmp_path}/there:one", "--tag", "two", "--config.user", "me")
    changed = read_layout(tmp_path / "there", "two")
    assert json.loads(changed.config.content)["config"]["User"] == "me"
    write_layout(made, store, tmp_path / "there", ("three",))
    assert read_layout(tmp_path / "there", "two").config == changed.config
    assert read_layout(tmp_path / "there", "three").config == made.config


def sandbox() -> Sandbox:
    return choose(Path(tempfile.gettempdir(), "envbuilder-tests"), os.environ["PATH"])


def test_a_squashfs_has_the_tree_and_what_it_comes_from(made: AssembledImage, store: Store, tmp_path: Path) -> None:
    places = os.path.dirname(program("mksquashfs"))  # noqa: PTH120  a text is wanted
    one, two = tmp_path / "one.sqsh", tmp_path / "two.sqsh"
    for out in (one, two):
        write_squashfs(made, store, out, epoch=1_700_000_000, search_path=places, sandbox=sandbox)
    assert one.read_bytes() == two.read_bytes()
    output(program("unsquashfs"), "-no-progress", "-dest", str(tmp_path / "tree"), str(one))
    expected(tmp_path / "tree")
    assert (tmp_path / "tree/etc/envbuilder-image").read_text() == f"{made.manifest.descriptor.digest}\n"
    assert (tmp_path / "tree/etc/environment").read_text().startswith("PATH=/bin\nA=b\n")
    assert {path.lstat().st_mtime for path in (tmp_path / "tree").rglob("*")} == {1_700_000_000}


def test_a_squashfs_does_not_depend_on_the_time_that_the_environment_says(
    made: AssembledImage, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mksquashfs refuses to be told the time in two ways."""
    places = os.path.dirname(program("mksquashfs"))  # noqa: PTH120
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "5")
    write_squashfs(made, store, tmp_path / "x.sqsh", epoch=7, search_path=places, sandbox=sandbox)
    assert (tmp_path / "x.sqsh").stat().st_size > 0


@on_docker
def test_docker_loads_our_archive(world: World, store: Store, tmp_path: Path) -> None:
    name = world.new_name()
    members = [file("bin/sh", _BUSYBOX.read_bytes(), mode=0o755), file("word", world.unique().encode())]
    one = image(store, members, config={"Labels": {"run": world.run}}, bill=b"{}")
    write_archive(one, store, tmp_path / "x.tar", (name,))
    loaded = connect(os.environ).load(tmp_path / "x.tar")
    assert loaded.id == one.config.descriptor.digest
    assert loaded.tags == (name,)


@on_docker
def test_docker_loads_and_pulls_layers_that_start_lazily(world: World, store: Store, tmp_path: Path) -> None:
    engine, large = world.engine, bytes(LARGEST_CHUNK) + os.urandom(LARGEST_CHUNK)
    base, _ = layers()
    upper = [file("word", world.unique().encode()), file("large", large)]
    made = lazy_image(store, tmp_path, base, upper, config={**CONFIG, "Labels": {"run": world.run}})
    asked = ("sh", "-c", "busybox sha256sum < /large")
    expected = f"{hashlib.sha256(large).hexdigest()}  -\n".encode()

    name = world.new_name()
    write_archive(made, store, tmp_path / "x.tar", (name,))
    assert engine.load(tmp_path / "x.tar").id == made.config.descriptor.digest
    assert engine.run(RunRequest(image=name, command=asked)).stdout == expected
    output(program("docker"), "rmi", name)

    pulled = ImageRef.parse(world.new_name(world.open_registry()))
    with RegistryClient({}, []) as client:
        push(client, made, pulled, store)
    assert engine.pull(pulled, lambda _: None).id == made.config.descriptor.digest
    assert engine.run(RunRequest(image=str(pulled), command=asked)).stdout == expected


@on_docker
def test_what_docker_saves_is_read(world: World, tmp_path: Path) -> None:
    output(program("docker"), "save", "-o", str(tmp_path / "saved.tar"), world.base)
    found = read_layout(tmp_path / "saved.tar", world.base)
    known = world.engine.image(world.base)
    assert known is not None
    assert found.config.descriptor.digest == known.id
    assert [layer.digest for layer in found.layers] == list(known.diff_ids)


def test_a_command_runs_in_an_image_of_the_store(made: AssembledImage, store: Store, tmp_path: Path) -> None:
    chosen = choose(tmp_path / "work", f"{os.environ['PATH']}:/usr/sbin:/sbin")
    known = ImageRunner(
        sandbox=lambda: chosen,
        lookup={"tf:1": made}.get,
        unpack=unpack,
        store=store,
        trees=tmp_path / "trees",
        following=following(tmp_path, chosen),
        gpus=HostGpus(root=tmp_path, search_path=""),
        progress=print,
    )
    script = "echo $A; cat /etc/kept /opaque/above /tmp/given; echo made > /tmp/out"
    result = known.run(
        RunRequest(image="tf:1", command=("sh", "-c", script), files=(("/tmp/given", b"given\n"),), copy_out="/tmp/out")
    )
    assert result.stdout == b"b\nkept\nabove\ngiven\n", result.stderr
    assert result.copied == b"made\n"
    expected(tmp_path / "trees" / made.manifest.descriptor.digest[7:])
