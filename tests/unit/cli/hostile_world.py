"""A shell whose every setting holds a secret, and the servers that ask for them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import certifi

from envbuilder.oci.images import CONFIG_TYPE, MANIFEST_TYPE, LayerFormat
from envbuilder.oci.tar.members import file_of
from envbuilder.oci.tar.writing import write
from tests.fakes import private_index
from tests.fakes.canaries import canary, files_below, leaks
from tests.fakes.catalogs import DATA
from tests.unit.cli.running import CommandLine, Ended
from tests.unit.image.base.test_locate import archive
from tests.unit.oci.registry import faulty

USER = private_index.USER
NOBODY = "127.0.0.1:9"
BASE = "nvidia/cuda:11.0.3-runtime"
ENVIRONMENT = "tf-2.15-cpu"
BASE_SYSTEM = f"""  - id: "image-cpu"
    kind: "image"
    image: "{BASE}"
    glibc: "2.31"
    glibcxx: "3.4.28"
    python: "3.8"
    python_package: "python3"
    publication:
      state: "published"
      date: "2024-01-01"
      note: "made here"
      sources:
        - "made up for tests"
    sources:
      - "made up for tests"
"""
WHEELS = ("tensorflow_cpu-2.15.1-py3-none-any.whl", "six-1.0-py3-none-any.whl")
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
            *("--python-archive", str(archive(self.home, "3.8.18"))),
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
        _write_spec(made)
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


def _write_spec(world: HostileWorld) -> None:
    """A catalog with an environment on the registry image, and the spec of a team."""
    for file in WHEELS:
        world.index.files[file] = private_index.wheel(file)
    members = [file_of("etc/passwd", b"root:x:0:0::/root:/bin/sh\n", mtime=1)]
    _push_base(world, write(members, world.home / "base.tar").path)
    catalog = world.home / "matrices"
    shutil.copytree(DATA / "catalog", catalog)
    with (catalog / "bases.yaml").open("a", encoding="utf-8") as bases:
        bases.write(BASE_SYSTEM)
    row = catalog / "environments" / f"{ENVIRONMENT}.yaml"
    text = row.read_text(encoding="utf-8").replace('"3.11"', '"3.8"').replace('"debian-new"', '"image-cpu"')
    row.write_text(text.replace('python_from: "os"', 'python_from: "archive"'), encoding="utf-8")
    world.envbuilder.set("ENVBUILDER_MATRICES", str(catalog))
    world.envbuilder.write("envbuilder.yaml", f'environment: "{ENVIRONMENT}"\npackages: ["six"]\n')


def _push_base(world: HostileWorld, tar: Path) -> None:
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
    world.base_registry.put_manifest(name, BASE.partition(":")[2], MANIFEST_TYPE, manifest)
