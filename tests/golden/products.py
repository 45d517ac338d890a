"""What users get to see, made from the real catalog and fake sources: every file with its path below tests/golden."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from functools import cache

from envbuilder.catalog.environments import Environment
from envbuilder.core.memory_policy import GROWTH
from envbuilder.image.dockerfile.spec_file import render_spec
from envbuilder.image.render import rendered
from envbuilder.lock.container_settings import DEFAULT_USER, ContainerSettings, Healthcheck, User
from envbuilder.lock.create import lock
from envbuilder.lock.lock import Lock, OwnFile
from envbuilder.lock.lockfile import dump
from envbuilder.lock.spec import Spec
from tests.fakes.catalogs import TEMPLATES, real_catalog, real_row
from tests.fakes.ports import lock_ports
from tests.fakes.resolver import FakeResolver

# One image of each shape: base of a registry and source distributions; wheels for GPUs on Debian; no GPU; the newest.
IMAGES = {
    "tf-1.4-cuda8.0": "nvidia-cuda-8.0-cudnn6",
    "tf-2.15-cuda12.2": "debian-bookworm",
    "tf-2.15-cpu": "debian-bookworm",
    "tf-2.21-cuda12.5": "nvidia-cuda-12.6.3-cudnn9",
}
# Rows whose spec and description are kept.
SHOWN = tuple(IMAGES)

# Enough of each TensorFlow's dependencies to see every layer; versions are of no matter here.
_RESOLVER = FakeResolver(
    versions={"h5py": "2.10.0", "numpy": "1.19.5", "pandas": "1.5.3", "protobuf": "3.20.3", "six": "1.16.0"},
    needs={
        "tensorflow": ["h5py", "keras", "numpy", "protobuf", "setuptools", "wrapt"],
        "tensorflow-cpu": ["h5py", "keras", "numpy", "protobuf", "setuptools", "wrapt"],
        "tensorflow-gpu": ["html5lib", "numpy", "protobuf", "termcolor", "wrapt"],
        "nvidia-cudnn-cu11": ["nvidia-cublas-cu11"],
        "pandas": ["numpy", "pytz"],
    },
)

# One spec with everything that a team can ask for.
TEAM = Spec(
    environment="tf-2.4-cuda11.0",
    packages=("pandas", "six==1.16.0"),
    apt=("git",),
    cutoff=date(2023, 9, 1),
    base="debian-bookworm",
    files=(
        OwnFile(path="/app/run.sh", sha256="b" * 64, size=20, executable=True),
        OwnFile(path="/workspace/train me.py", sha256="a" * 64, size=1000),
    ),
    settings=ContainerSettings(
        command=("--epochs", "3"),
        entrypoint=("python", "train me.py"),
        ports=("6006/tcp", "8888/udp"),
        labels=(("org.opencontainers.image.source", "https://git.example/vision"), ("owner", 'the "vision" $team')),
        workdir="/srv/model",
        healthcheck=Healthcheck(command=("python", "-c", "import six"), interval=90, start_period=120),
    ),
    env=(("GREETING", 'it\'s "$HOME" \\'), ("TF_CPP_MIN_LOG_LEVEL", "1")),
    user=User(name="team", uid=1234, gid=1235),
    memory=GROWTH,
)


@cache
def made(spec: Spec) -> Lock:
    return lock(real_catalog(), spec, lock_ports(resolver=_RESOLVER))


def images() -> dict[str, Spec]:
    """The specs of the images whose files are kept, with one team's own, by folder."""
    folders = {f"images/{row}/{base}": Spec(environment=row, base=base) for row, base in IMAGES.items()}
    return folders | {"images/a-team": TEAM}


def image_files(folder: str) -> Iterator[tuple[str, str]]:
    """The texts of one rendered folder; what is the same for all images is left to `shared_files`.

    The lists of the layers are kept for one image: `test_every_environment` compares those of all with their locks.
    """
    files = rendered(made(images()[folder]), TEMPLATES)
    for file in files.texts:
        is_list = file.path.startswith("layers/") and folder != "images/a-team"
        if file.path not in {"tools/with-host", "host/README"} and not is_list:
            yield f"{folder}/{file.path}", file.text
    yield f"{folder}/attachments.txt", "".join(f"{file.sha256} {file.path}\n" for file in files.attachments)


def shared_files() -> Iterator[tuple[str, str]]:
    """What every image has alike."""
    files = {file.path: file.text for file in rendered(made(TEAM), TEMPLATES).texts}
    for path in ("tools/with-host", "host/README"):
        yield f"images/{path}", files[path]


def spec_file(row: Environment) -> tuple[str, str]:
    """What `envbuilder init` writes."""
    return f"specs/{row.id}.yaml", render_spec(row, TEMPLATES)


def moved_lock() -> str:
    """The team's lock after one of everything has changed."""
    before = made(TEAM)
    changed = replace(TEAM, packages=("pandas", "six==1.17.0", "zipp"), apt=(), env=(("TZ", "UTC"),), user=DEFAULT_USER)
    assert before.cuda is not None
    after = made(changed)
    return dump(replace(after, base=replace(after.base, digest="sha256:" + "0" * 64)))


def team_lock() -> str:
    return dump(made(TEAM))


def cpu_lock() -> str:
    return dump(made(Spec(environment=real_row("tf-2.15-cpu").id)))
