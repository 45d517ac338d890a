"""A shell whose every setting holds a secret, and the servers that ask for them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

import certifi

from envbuilder.assembling.documents import pin_of
from envbuilder.assembling.records import Records
from envbuilder.locking.lockfile import dump, load
from envbuilder.model.images import CONFIG_TYPE, MANIFEST_TYPE, LayerFormat
from envbuilder.model.locks import BasePin, PackageGroup, PackagePin
from envbuilder.model.rows import BaseKind
from envbuilder.store import Store
from envbuilder.tar.members import file_of
from envbuilder.tar.writing import write
from tests.fakes import private_index
from tests.fakes.canaries import canary, files_below, leaks
from tests.fakes.catalogs import good_lock
from tests.unit.cli.running import CommandLine, Ended
from tests.unit.registries import faulty

USER = private_index.USER
NOBODY = "127.0.0.1:9"
BASE = "nvidia/cuda:11.0.3-runtime"
WHEELS = {
    "tensorflow-gpu": (PackageGroup.FRAMEWORK, "2.4.4"),
    "numpy": (PackageGroup.PACKAGES, "1.0"),
    "six": (PackageGroup.OWN, "1.0"),
}
VARIABLES = ("AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "GITHUB_TOKEN", "TWINE_PASSWORD")


def login(place: str) -> str:
    """Return user and password of a place, as they are written in an address."""
    return f"{USER}:{quote(canary(place), safe='')}"


def address(place: str, host: str, scheme: str = "http") -> str:
    """Return an address with the login of a place."""
    return f"{scheme}://{login(place)}@{host}"


@dataclass(kw_only=True)
class HostileWorld:
    """Servers on loopback, secrets, and all that commands wrote.

    Attributes:
        envbuilder: The command line; its home folder lies outside of what is searched.
        index: Package index that wants the password of the place `index`.
        empty_index: Package index without any package, for settings that name further ones.
        base_registry: Registry of the base image; wants what the credential program says.
        registry: Registry to push to; wants the login of Docker's configuration.
        lock: A lock of toy wheels on a registry image.
    """

    envbuilder: CommandLine
    index: private_index.Server
    empty_index: private_index.Server
    base_registry: faulty.Registry
    registry: faulty.Registry
    secrets: dict[str, str] = field(default_factory=dict)
    said: dict[str, bytes] = field(default_factory=dict)

    def __call__(self, *arguments: str) -> Ended:
        """Run a command, and keep what it says."""
        ended = self.envbuilder(*arguments)
        number = len(self.said)
        self.said[f"{number} {' '.join(arguments)[:60]} (stdout)"] = ended.stdout.encode("utf-8", "surrogateescape")
        self.said[f"{number} {' '.join(arguments)[:60]} (stderr)"] = ended.stderr.encode("utf-8", "surrogateescape")
        return ended

    def name_image(self, name: str) -> None:
        """Write the digests of an image that was built into the lock."""
        path = self.envbuilder.folder / "envbuilder.lock"
        kept = Records(store=Store(folder=self.envbuilder.folder / "cache" / "store")).image(name)
        assert kept is not None
        lock = load(path.read_text(encoding="utf-8"), str(path))
        path.write_text(dump(replace(lock, image=pin_of(kept.image, LayerFormat.GZIP_SPLICED))), encoding="utf-8")

    def plant(self, place: str) -> str:
        """Return the secret of a place, which is searched for from now on."""
        self.secrets[place] = canary(place)
        return canary(place)

    def leaks(self) -> list[str]:
        """Return where a secret can be read: in what was said, the folder, the cache, or what was pushed."""
        pushed = {f"pushed {key}": blob for key, blob in self.registry.blobs.items()}
        manifests = {f"pushed {key}": content for key, (_, content) in self.registry.manifests.items()}
        return leaks({**self.said, **files_below(self.envbuilder.folder), **pushed, **manifests}, self.secrets)

    @property
    def home(self) -> Path:
        """Home folder of the user."""
        return self.envbuilder.folder.parent / "home"

    @property
    def sources(self) -> tuple[str, ...]:
        """Options of a command that fetches."""
        return (
            *("--index", f"{address('index', f'127.0.0.1:{self.index.server_port}')}/simple/"),
            *("--registry-mirror", self.base_registry.host),
        )


@contextmanager
def hostile_world(envbuilder: CommandLine) -> Iterator[HostileWorld]:
    """Plant a secret in every place, and start the servers."""
    with ExitStack() as stack:
        made = HostileWorld(
            envbuilder=envbuilder,
            index=stack.enter_context(private_index.serving(protected=True)),
            empty_index=stack.enter_context(private_index.serving(protected=False)),
            base_registry=stack.enter_context(faulty.serving()),
            registry=stack.enter_context(faulty.serving()),
        )
        made.index.password = made.plant("index")
        made.empty_index.files.clear()
        made.base_registry.tokens, made.registry.tokens = set(), set()
        made.base_registry.login = _basic("bot", made.plant("credential-program"))
        made.registry.login = _basic(USER, made.plant("docker-config"))
        _plant_files(made)
        _plant_variables(made)
        _write_lock(made)
        yield made


def _basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _plant_files(world: HostileWorld) -> None:
    home = world.home
    for folder in (".docker", ".config/containers", ".config/pip", ".config/uv", "bin"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    program = home / "bin" / "docker-credential-canary"
    told = json.dumps({"Username": "bot", "Secret": world.secrets["credential-program"]})
    program.write_text(f"#!/bin/sh\necho '{told}'\n", encoding="utf-8")
    program.chmod(0o755)
    auth = world.registry.login.removeprefix("Basic ")
    config = {"credHelpers": {world.base_registry.host: "canary"}, "auths": {world.registry.host: {"auth": auth}}}
    (home / ".docker" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    world.plant("netrc")
    (home / ".netrc").write_text(f"machine nowhere.invalid login {USER} password {canary('netrc')}\n", encoding="utf-8")
    world.plant("pip.conf")
    (home / ".config" / "pip" / "pip.conf").write_text(
        f"[global]\nindex-url = {address('pip.conf', NOBODY)}/simple\n", encoding="utf-8"
    )
    world.plant("uv.toml")
    (home / ".config" / "uv" / "uv.toml").write_text(
        f'extra-index-url = ["{address("uv.toml", f"127.0.0.1:{world.empty_index.server_port}")}/simple/"]\n',
        encoding="utf-8",
    )
    trusted = Path(certifi.where()).read_text(encoding="utf-8")
    (home / "ca.pem").write_text(f"# {world.plant('ca-bundle')}\n{trusted}", encoding="utf-8")
    other = {"auths": {"other.invalid": {"auth": _basic(USER, world.plant("auth.json")).removeprefix("Basic ")}}}
    (home / ".config" / "containers" / "auth.json").write_text(json.dumps(other), encoding="utf-8")


def _plant_variables(world: HostileWorld) -> None:
    envbuilder = world.envbuilder
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        world.plant(name)
        envbuilder.set(name, address(name, NOBODY))
    envbuilder.set("NO_PROXY", "127.0.0.1,localhost")
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        world.plant(name)
        envbuilder.set(name, f"{address(name, NOBODY)}/simple/")
    world.plant("UV_EXTRA_INDEX_URL")
    extra = address("UV_EXTRA_INDEX_URL", f"127.0.0.1:{world.empty_index.server_port}")
    envbuilder.set("UV_EXTRA_INDEX_URL", f"{extra}/simple/")
    envbuilder.set("UV_INDEX_CORP_USERNAME", USER)
    envbuilder.set("UV_INDEX_CORP_PASSWORD", world.plant("UV_INDEX_CORP_PASSWORD"))
    envbuilder.set("UV_HTTP_RETRIES", "0")
    envbuilder.set("SSL_CERT_FILE", str(world.home / "ca.pem"))
    for name in VARIABLES:
        envbuilder.set(name, world.plant(name))
    world.plant("DOCKER_HOST")
    envbuilder.set("DOCKER_HOST", address("DOCKER_HOST", NOBODY, "tcp"))
    envbuilder.set("HOME", str(world.home))
    envbuilder.set("PATH", f"{world.home / 'bin'}:/usr/bin:/bin")
    for name in (
        "XDG_CONFIG_HOME",
        "XDG_RUNTIME_DIR",
        "SSL_CERT_DIR",
        "DOCKER_CONFIG",
        "DOCKER_CONTEXT",
        "NETRC",
        "UV_CONFIG_FILE",
        "REGISTRY_AUTH_FILE",
    ):
        envbuilder.unset(name)


def _write_lock(world: HostileWorld) -> None:
    folder = world.envbuilder.folder
    good = good_lock()
    pins = []
    for name, (group, version) in WHEELS.items():
        file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        content = private_index.wheel(file)
        world.index.files[file] = content
        digest = hashlib.sha256(content).hexdigest()
        pins.append(PackagePin(name=name, version=version, file=file, sha256=digest, group=group, size=len(content)))
    members = [
        file_of("etc/passwd", b"root:x:0:0::/root:/bin/sh\n", mtime=1),
        file_of("usr/bin/true", b"true", mtime=1),
    ]
    base = write(members, world.home / "base.tar")
    python = write([file_of("python/bin/python3.8", b"python", mtime=1)], world.home / "python.tar")
    archive = gzip.compress(python.path.read_bytes(), mtime=0)
    (world.home / good.python.file).write_bytes(archive)
    lock = replace(
        good,
        base=BasePin(id="image-11.0", kind=BaseKind.IMAGE, image=BASE, digest=_push_base(world, base.path)),
        python=replace(good.python, sha256=hashlib.sha256(archive).hexdigest()),
        cuda=None,
        os_packages=(),
        packages=tuple(pins),
        tools=(),
    )
    (folder / "envbuilder.lock").write_text(dump(lock), encoding="utf-8")


def _push_base(world: HostileWorld, tar: Path) -> str:
    name = BASE.partition(":")[0]
    plain = tar.read_bytes()
    packed = gzip.compress(plain, mtime=0)
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(plain).hexdigest()}"]},
        }
    ).encode()
    blobs = ((CONFIG_TYPE, config), (LayerFormat.GZIP_SPLICED.media_type, packed))
    listed = [
        {"mediaType": kind, "digest": world.base_registry.put_blob(name, content), "size": len(content)}
        for kind, content in blobs
    ]
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": listed[0], "layers": listed[1:]}
    return world.base_registry.put_manifest(name, BASE.partition(":")[2], MANIFEST_TYPE, manifest)
