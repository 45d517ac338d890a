"""Our registry client against the distribution project's registry, over a good and a bad line; skopeo as a witness."""

from __future__ import annotations

import gzip
import io
import json
import random
import shutil
import socket
import socketserver
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.references import ImageRef
from envbuilder.image.attest import statements
from envbuilder.image.layers.layer_writer import Packed
from envbuilder.image.layers.records import LayerRecord
from envbuilder.image.layers.registry_cache import CacheRepositories, RegistryCacheWriter, RegistryLayerCache
from envbuilder.image.mirror.artifact import inputs_artifact, inputs_tag
from envbuilder.image.mirror.file_mirror import RegistryMirror
from envbuilder.image.signing import Signed, SignedRepository
from envbuilder.lock.index.index import IndexFile
from envbuilder.oci.documents import document
from envbuilder.oci.images import (
    CONFIG_TYPE,
    EMPTY_TYPE,
    MANIFEST_TYPE,
    AssembledImage,
    Descriptor,
    ImageLayerPin,
    LayerFormat,
    SmallBlob,
)
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.failures import TransferStopped
from envbuilder.oci.registry.parallel import TransferState
from envbuilder.oci.registry.pull import fetch_blobs, find
from envbuilder.oci.registry.push import push_artifact
from envbuilder.oci.registry.upload_records import UploadRecords
from envbuilder.oci.registry.uploads import PIECE, Upload
from envbuilder.oci.store import Store
from tests.contract import registry
from tests.contract.conftest import REQUIRED
from tests.fakes.catalogs import good_lock
from tests.fakes.pushing import push
from tests.fakes.signing import made_key
from tests.unit.image.toys import World

FORMAT = LayerFormat.GZIP_SPLICED


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not registry.PROGRAM:
        (pytest.fail if REQUIRED else pytest.skip)("docker-registry is not installed")
    with registry.serve(tmp_path_factory.mktemp("registry")) as address:
        yield address


@pytest.fixture
def client(tmp_path: Path) -> Iterator[RegistryClient]:
    with RegistryClient({}, [tmp_path / "docker" / "config.json"]) as made:
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(folder=tmp_path / "store")


def layer(name: str, content: bytes) -> tuple[bytes, bytes]:
    """A tar with one file, and the same packed."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return plain.getvalue(), gzip.compress(plain.getvalue(), 1, mtime=0)


def entry(descriptor: Descriptor) -> dict[str, object]:
    return {"mediaType": descriptor.media_type, "digest": descriptor.digest, "size": descriptor.size}


def manifest_of(config: Descriptor, layers: list[Descriptor], **more: object) -> SmallBlob:
    value = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": entry(config),
        "layers": [entry(blob) for blob in layers],
        **more,
    }
    return document(MANIFEST_TYPE, json.dumps(value).encode())


def image_of(store: Store, *contents: bytes, sbom: bytes = b"") -> AssembledImage:
    """An image that engines could run, if it held a program."""
    pins = []
    for number, content in enumerate(contents):
        plain, packed = layer(f"file-{number}", content)
        blob = Descriptor(media_type=LayerFormat.GZIP_SPLICED.media_type, digest=store.put(packed), size=len(packed))
        diff_id = document("", plain).descriptor.digest
        pins.append(ImageLayerPin(id=f"layer-{number}", key=blob.digest, diff_id=diff_id, blob=blob))
    value = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Env": ["A=b"]},
        "rootfs": {"type": "layers", "diff_ids": [pin.diff_id for pin in pins]},
    }
    config = document(CONFIG_TYPE, json.dumps(value).encode())
    manifest = manifest_of(config.descriptor, [pin.blob for pin in pins])
    attached: tuple[tuple[SmallBlob, SmallBlob], ...] = ()
    if sbom:
        content_ = document("application/spdx+json", sbom)
        empty = document(EMPTY_TYPE, b"{}").descriptor
        referring = manifest_of(
            empty, [content_.descriptor], subject=entry(manifest.descriptor), artifactType="application/spdx+json"
        )
        attached = ((referring, content_),)
    return AssembledImage(layers=tuple(pins), config=config, manifest=manifest, attached=attached)


def noise(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)  # noqa: S311  content, not a secret


def test_what_is_pushed_comes_back(client: RegistryClient, host: str, store: Store, tmp_path: Path) -> None:
    image = image_of(store, noise(1, 5_000_000), noise(2, 10))
    reference = ImageRef.parse(f"{host}/back/image:1")
    pushed = push(client, image, reference, store)
    found = find(client, reference)
    other = Store(folder=tmp_path / "other")
    fetch_blobs(client, reference, found.layers, other)
    assert (pushed.digest, pushed.pushed_layers) == (image.manifest.descriptor.digest, 2)
    assert (found.manifest, found.config) == (image.manifest, image.config)
    assert all(other.read(pin.blob.digest) == store.read(pin.blob.digest) for pin in image.layers)


def test_a_second_push_sends_nothing(client: RegistryClient, host: str, store: Store) -> None:
    image = image_of(store, noise(3, 100_000), noise(4, 100_000))
    push(client, image, ImageRef.parse(f"{host}/again/image:1"), store)
    again = push(client, image, ImageRef.parse(f"{host}/again/image:2"), store)
    assert (again.pushed_bytes, again.pushed_layers, again.present_layers) == (0, 0, 2)


def test_a_layer_of_several_pieces_arrives(client: RegistryClient, host: str, store: Store) -> None:
    image = image_of(store, noise(5, PIECE + 3_000_000))
    reference = ImageRef.parse(f"{host}/large/image:1")
    push(client, image, reference, store)
    assert find(client, reference).manifest == image.manifest


def test_blobs_are_mounted_from_another_repository(client: RegistryClient, host: str, store: Store) -> None:
    base = image_of(store, noise(6, 1_000_000))
    push(client, base, ImageRef.parse(f"{host}/mount/base:1"), store)
    image = image_of(store, noise(6, 1_000_000), noise(7, 1000))
    reference = ImageRef.parse(f"{host}/mount/team/image:1")
    pushed = push(client, image, reference, store, mount_from=(f"{host}/mount/absent", f"{host}/mount/base"))
    assert (pushed.pushed_layers, pushed.present_layers) == (1, 1)
    assert find(client, reference).manifest == image.manifest


def test_what_is_attached_is_listed_under_the_fallback_tag(client: RegistryClient, host: str, store: Store) -> None:
    image = image_of(store, noise(8, 1000), sbom=b'{"spdxVersion":"SPDX-2.3"}')
    reference = ImageRef.parse(f"{host}/attached/image:1")
    push(client, image, reference, store)
    listed = client.repository(reference).manifest(image.manifest.descriptor.digest.replace(":", "-"))
    assert listed is not None
    digests = [entry["digest"] for entry in json.loads(listed.content)["manifests"]]
    assert digests == [image.attached[0][0].descriptor.digest]


def test_the_registry_says_how_much_it_has(client: RegistryClient, host: str) -> None:
    """Asked at the address that it gave last; what taking up an upload rests on."""
    repository = client.repository(ImageRef.parse(f"{host}/half/image:1"), push=True)
    with repository.send(repository.request("POST", "blobs/uploads/", "x"), (202,)) as answer:
        location = answer.location
    headers = {"Content-Range": "0-999", "Content-Type": "application/octet-stream", "Content-Length": "1000"}
    request = repository.request("PATCH", location, "x", headers=headers, body=noise(9, 1000))
    with repository.send(request, (202,)) as answer:
        location = answer.location
    with repository.send(repository.request("GET", location, "x"), (204,)) as answer:
        assert answer.headers["Range"] == "0-999"


def test_layers_of_a_cache_that_two_builders_write_come_back_by_key(
    client: RegistryClient, host: str, store: Store, tmp_path: Path
) -> None:
    place = ImageRef.parse(f"{host}/cache/layers")
    said: list[str] = []
    contents = [noise(seed, 5000) for seed in range(20, 32)]
    records = {document("", content + b"key").descriptor.digest: record_of(store.put(content)) for content in contents}

    def builder() -> RegistryCacheWriter:
        repositories = CacheRepositories(client=client, report=said.append)
        return RegistryCacheWriter(repositories=repositories, store=store, write=place)

    with ThreadPoolExecutor(8) as pool:
        caches = [builder(), builder()]
        list(pool.map(lambda pair: pair[0].keep(*pair[1], FORMAT), product(caches, records.items())))
    other = Store(folder=tmp_path / "other")
    repositories = CacheRepositories(client=client, report=said.append)
    reading = RegistryLayerCache(repositories=repositories, store=other, read=[place])
    found = reading.find(list(records))
    blobs = [record.packed.blob(FORMAT) for record in found.values()]
    assert found == records
    assert reading.held(blobs) == {blob.digest for blob in blobs}
    reading.pull(blobs, lambda _transfer: None)
    assert [other.read(blob.digest) for blob in blobs] == contents
    assert said == []


def record_of(digest: str) -> LayerRecord:
    return LayerRecord(packed=Packed(digest=digest, size=5000, diff_id=digest), needs=("libc.so.6",), notes=("a note",))


class BadLine(socketserver.ThreadingTCPServer):
    """Hands on what it gets, counts it, and breaks off once after so many bytes of one connection."""

    daemon_threads = True
    block_on_close = False
    there = ""
    cut_after = 0
    carried = 0

    def handle_error(self, request: object, client_address: object) -> None:
        """Breaking off is what it is for."""


class Relay(socketserver.BaseRequestHandler):
    server: BadLine

    def handle(self) -> None:
        name, _, port = self.server.there.rpartition(":")
        with socket.create_connection((name, int(port))) as there:
            back = threading.Thread(target=self.copy, args=(there, self.request), daemon=True)
            back.start()
            self.copy(self.request, there)
            there.shutdown(socket.SHUT_RDWR)
            back.join()

    def copy(self, source: socket.socket, target: socket.socket) -> None:
        done = 0
        with suppress(OSError):
            while data := source.recv(65536):
                done += len(data)
                self.server.carried += len(data) if source is self.request else 0
                target.sendall(data)
                if source is self.request and 0 < self.server.cut_after < done:
                    self.server.cut_after = 0
                    break
            target.shutdown(socket.SHUT_RDWR)
            source.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def bad_line(host: str) -> Iterator[BadLine]:
    with BadLine(("127.0.0.1", 0), Relay) as line:
        line.there = host
        thread = threading.Thread(target=line.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield line
        line.shutdown()
        thread.join()


@pytest.mark.parametrize("cut_after", [100_000, 20_000_000, PIECE + 2_000_000])
def test_a_push_over_a_line_that_breaks_ends_well(
    client: RegistryClient, host: str, store: Store, bad_line: BadLine, cut_after: int
) -> None:
    """The distribution project's registry refuses to go on after a broken piece (2.8): the upload begins anew."""
    image = image_of(store, noise(cut_after, PIECE + 5_000_000))
    bad_line.cut_after = cut_after
    there = f"127.0.0.1:{bad_line.server_address[1]}"
    push(client, image, ImageRef.parse(f"{there}/bad/line:{cut_after}"), store)
    assert bad_line.cut_after == 0
    assert find(client, ImageRef.parse(f"{host}/bad/line:{cut_after}")).manifest == image.manifest


class Killed(io.BytesIO):
    """A blob whose sender ends before it reads beyond a position."""

    def __init__(self, content: bytes, end: int) -> None:
        super().__init__(content)
        self.end = end

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() >= self.end:
            raise TransferStopped("as if it was killed")
        return super().read(size)


def _upload(client: RegistryClient, reference: str, stream: Killed, folder: Path) -> None:
    """Upload a blob in pieces of a megabyte."""
    repository = client.repository(ImageRef.parse(reference), push=True)
    content = stream.getvalue()
    blob = Descriptor(media_type="x", digest=document("x", content).descriptor.digest, size=len(content))
    with UploadRecords(folder=folder).of(repository.place, blob.digest) as record:
        Upload(
            repository=repository,
            blob=blob,
            item="x",
            stream=stream,
            watch=TransferState(),
            record=record,
            piece=1_000_000,
        ).run()
    assert repository.has_blob(blob.digest)


def test_an_upload_of_a_run_that_was_killed_between_pieces_is_continued(
    client: RegistryClient, bad_line: BadLine, tmp_path: Path
) -> None:
    content = noise(12, 3_300_000)
    reference = f"127.0.0.1:{bad_line.server_address[1]}/killed/between:1"
    with pytest.raises(TransferStopped):
        _upload(client, reference, Killed(content, 2_000_000), tmp_path / "uploads")
    bad_line.carried = 0
    _upload(client, reference, Killed(content, len(content)), tmp_path / "uploads")
    assert 1_300_000 <= bad_line.carried < 1_800_000


def test_an_upload_of_a_run_that_was_killed_within_a_piece_begins_anew(
    client: RegistryClient, bad_line: BadLine, tmp_path: Path
) -> None:
    """The distribution project's registry then has more than it has told, and refuses to go on (2.8)."""
    content = noise(13, 3_300_000)
    reference = f"127.0.0.1:{bad_line.server_address[1]}/killed/within:1"
    with pytest.raises(TransferStopped):
        _upload(client, reference, Killed(content, 2_500_000), tmp_path / "uploads")
    bad_line.carried = 0
    _upload(client, reference, Killed(content, len(content)), tmp_path / "uploads")
    assert bad_line.carried >= len(content)


def test_what_is_not_there_is_said_in_the_registrys_words(client: RegistryClient, host: str, store: Store) -> None:
    missing = Descriptor(media_type="x", digest=document("", b"no").descriptor.digest, size=2)
    with pytest.raises(SourceUnreachable, match=r"404 Not Found .*BLOB_UNKNOWN"):
        fetch_blobs(client, ImageRef.parse(f"{host}/no/image:1"), [missing], store)


def test_an_image_is_signed_and_its_signature_is_found(
    client: RegistryClient, host: str, store: Store, tmp_path: Path
) -> None:
    image, name = image_of(store, noise(11, 1000)), f"{host}/signed/image"
    push(client, image, ImageRef.parse(f"{name}:1"), store)
    repository, key = SignedRepository(client=client, repository=name, store=store), made_key(tmp_path)
    about = statements(good_lock(), image.manifest.descriptor.digest, LayerFormat.GZIP_SPLICED)
    assert repository.sign(repository.image("1"), about, key) == ("image", *(each.title for each in about))
    assert repository.sign(repository.image("1"), about, key) == ()
    fresh = SignedRepository(client=client, repository=name, store=Store(folder=tmp_path / "fresh"))
    checks = fresh.check(image.manifest.descriptor.digest, about, key.public)
    assert [check.outcome for check in checks] == [Signed(key=key.public.fingerprint)] * 3


def test_a_mirror_has_the_files_of_a_lock_by_their_sha256(
    client: RegistryClient, host: str, store: Store, tmp_path: Path
) -> None:
    world = World(folder=tmp_path)
    lock = replace(world.lock(), tools=(), files=())
    lock = replace(lock, base=replace(lock.base, packages=()), python=replace(lock.python, sha256=""))
    for pin in lock.packages:
        store.take(world.index / pin.file)
    target = ImageRef.parse(f"{host}/mirror/image:{inputs_tag(lock)}")
    pushed = push_artifact(client, inputs_artifact(lock, store, None), target, store)
    assert pushed.pushed_layers == len(lock.packages) + 1
    fresh = Store(folder=tmp_path / "fresh")
    mirror = RegistryMirror(repository=target.repository, client=lambda: client, store=fresh)
    for pin in lock.packages:
        mirror.fetch_instead(SourceUnreachable("gone"), IndexFile(file=pin.file, sha256=pin.sha256, url=""))
        assert fresh.read(f"sha256:{pin.sha256}") == (world.index / pin.file).read_bytes()
    with pytest.raises(SourceUnreachable, match=r"gone; mirror: .* does not have x either"):
        mirror.fetch_instead(SourceUnreachable("gone"), IndexFile(file="x", sha256="1" * 64, url=""))


def test_skopeo_reads_what_we_push(client: RegistryClient, host: str, store: Store) -> None:
    program = shutil.which("skopeo")
    if program is None:
        (pytest.fail if REQUIRED else pytest.skip)("skopeo is not installed")
    image = image_of(store, noise(10, 1000))
    push(client, image, ImageRef.parse(f"{host}/read/image:1"), store)
    command = [program, "inspect", "--tls-verify=false", f"docker://{host}/read/image:1"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert told["Digest"] == image.manifest.descriptor.digest
    assert told["Layers"] == [pin.blob.digest for pin in image.layers]
    assert told["Env"] == ["A=b"]
