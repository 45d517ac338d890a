"""Where ingredients come from, and what a user reads when they do not come."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import docker
import pytest

from envbuilder.core.references import ImageRef
from envbuilder.image.container_engine import ContainerEngine
from envbuilder.lock.lockfile import load
from envbuilder.oci.runtime.command import RunRequest
from tests.e2e.conftest import Tool

pytestmark = pytest.mark.xdist_group("engine")

ROW = "tf-2.15-cpu"
NOTHING_LISTENS = "127.0.0.1:9"
MATRICES = Path(__file__).parents[2] / "matrices"


@pytest.fixture(scope="module")
def locked(tool: Tool, tmp_path_factory: pytest.TempPathFactory, engine: ContainerEngine) -> Path:
    """A folder with spec and lock of the CPU row."""
    folder = tmp_path_factory.mktemp("locked")
    assert tool("init", ROW, folder=folder).status == 0
    done = tool("lock", folder=folder)
    assert done.status == 0, done.stderr
    return folder


def _lock_text(locked: Path) -> str:
    return (locked / "envbuilder.lock").read_text(encoding="utf-8")


def test_locking_twice_gives_the_same_bytes(tool: Tool, locked: Path, tmp_path: Path) -> None:
    assert tool("lock", locked / "envbuilder.yaml", "-o", tmp_path / "again.lock").status == 0

    assert (tmp_path / "again.lock").read_text(encoding="utf-8") == _lock_text(locked)


def test_a_lock_names_no_address(locked: Path) -> None:
    pins = load(_lock_text(locked), "envbuilder.lock")

    assert pins.packages
    assert not re.search(r"\w+://", _lock_text(locked))


def test_os_packages_are_pinned_fetched_and_compared(tool: Tool, engine: ContainerEngine, tmp_path: Path) -> None:
    tag = "envbuilder-test/apt:1"
    (tmp_path / "envbuilder.yaml").write_text(f'environment: "{ROW}"\napt: ["libsodium23"]\n', encoding="utf-8")
    done = tool("lock", folder=tmp_path)
    assert done.status == 0, done.stderr
    text = (tmp_path / "envbuilder.lock").read_text(encoding="utf-8")
    assert [pin.name for pin in load(text, "lock").os_packages] == ["libsodium23"]
    assert tool("build", "--tag", tag, folder=tmp_path).status == 0
    asked = engine.run(RunRequest(image=tag, command=("/usr/bin/dpkg-query", "-W", "libsodium23")))
    assert asked.status == 0

    sha = load(text, "lock").os_packages[0].sha256
    (tmp_path / "wrong.lock").write_text(text.replace(sha, "0" * 64), encoding="utf-8")
    wrong = tool("build", tmp_path / "wrong.lock", "--tag", "envbuilder-test/apt:wrong")
    assert wrong.status == 8, wrong.stderr
    assert engine.image("envbuilder-test/apt:wrong") is None


def test_a_base_image_comes_by_digest_from_a_mirror_on_loopback(
    tool: Tool, engine: ContainerEngine, locked: Path, tmp_path: Path, loopback_registry: str
) -> None:
    """A Debian tree stands in for the image, since a test must not need a registry on the network."""
    matrices = tmp_path / "matrices"
    shutil.copytree(MATRICES, matrices)
    row = matrices / "environments" / f"{ROW}.yaml"
    text = row.read_text(encoding="utf-8")
    choice = '  - base: "team-image"\n    python: "3.11"\n    python_from: "os"\n    cuda_from: "none"\n'
    row.write_text(text.replace("bases:\n", f"bases:\n{choice}"), encoding="utf-8")
    system = (
        '  - id: "team-image"\n    kind: "image"\n    image: "team/base:1"\n    glibc: "2.36"\n    glibcxx: "3.4.30"\n'
        '    python: "3.11"\n'
        '    publication:\n      state: "published"\n      date: "2026-11-22"\n      note: "made by this test"\n'
        '      sources:\n        - "made by this test"\n'
        '    sources:\n      - "made by this test"\n'
    )
    bases = matrices / "bases.yaml"
    bases.write_text(bases.read_text(encoding="utf-8") + system, encoding="utf-8")

    refused = tool(
        "lock",
        locked / "envbuilder.yaml",
        "-o",
        tmp_path / "refused.lock",
        "--registry-mirror",
        NOTHING_LISTENS,
        ENVBUILDER_MATRICES=str(matrices),
    )
    assert refused.status == 0, refused.stderr
    assert "not available: team-image" in refused.stderr
    fallen_back = load((tmp_path / "refused.lock").read_text(encoding="utf-8"), "lock")
    assert (fallen_back.base.id, fallen_back.refused) == ("debian-bookworm", ("team-image",))

    mirrored = ImageRef.parse(f"{loopback_registry}/team/base:1")
    debian = load(_lock_text(locked), "lock").base
    assert tool("build", locked, "--tag", "envbuilder-test/sources:1").status == 0
    known = engine.image(f"envbuilder/base:{debian.id}-{debian.digest.removeprefix('sha256:')[:12]}")
    assert known is not None
    engine.tag(known.id, mirrored)
    digest = engine.push(mirrored, lambda _: None).digest

    lock = tmp_path / "mirrored.lock"
    done = tool(
        "lock",
        locked / "envbuilder.yaml",
        "-o",
        lock,
        "--registry-mirror",
        loopback_registry,
        ENVBUILDER_MATRICES=str(matrices),
    )
    assert done.status == 0, done.stderr
    pin = load(lock.read_text(encoding="utf-8"), "lock").base
    assert (pin.id, pin.digest) == ("team-image", digest)
    tag = "envbuilder-test/mirrored:1"
    done = tool("build", lock, "--tag", tag, "--registry-mirror", loopback_registry, ENVBUILDER_MATRICES=str(matrices))
    assert done.status == 0, done.stderr

    elsewhere = lock.read_text(encoding="utf-8").replace(digest, f"sha256:{'0' * 64}")
    (tmp_path / "gone.lock").write_text(elsewhere, encoding="utf-8")
    gone = tool(
        "build", tmp_path / "gone.lock", "--registry-mirror", loopback_registry, ENVBUILDER_MATRICES=str(matrices)
    )
    assert gone.status == 5, gone.stderr


def test_a_build_never_switches_to_another_base(tool: Tool, locked: Path, tmp_path: Path) -> None:
    digest = load(_lock_text(locked), "lock").base.digest
    other = f"sha256:{'0' * 64}"
    (tmp_path / "other.lock").write_text(_lock_text(locked).replace(digest, other), encoding="utf-8")
    (tmp_path / "gone.lock").write_text(_without_debs(_lock_text(locked)).replace(digest, other), encoding="utf-8")

    made = tool("build", tmp_path / "other.lock", "--registry-mirror", NOTHING_LISTENS)
    assert made.status == 8, made.stderr
    assert digest in made.stderr
    assert other in made.stderr

    gone = tool("build", tmp_path / "gone.lock", "--registry-mirror", NOTHING_LISTENS)
    assert gone.status == 5, gone.stderr
    assert "next:" in gone.stderr


def _without_debs(lock: str) -> str:
    """Return the lock with a base whose packages name no files, as locks of older versions have it."""
    base, rest = lock.split("\npython:", 1)
    return re.sub(r"\n {6}(sha256|file|size): .*", "", base) + "\npython:" + rest


def test_a_file_that_is_not_what_the_lock_says_stops_the_build(
    tool: Tool, locked: Path, tmp_path: Path, engine: ContainerEngine
) -> None:
    pin = next(pin for pin in load(_lock_text(locked), "lock").packages if pin.name == "six")
    wrong = _lock_text(locked).replace(pin.sha256, "0" * 64)
    (tmp_path / "wrong.lock").write_text(wrong, encoding="utf-8")

    done = tool("build", tmp_path / "wrong.lock", "--tag", "envbuilder-test/wrong:1")

    assert done.status == 8, done.stderr
    assert "six" in done.stderr
    assert engine.image("envbuilder-test/wrong:1") is None


def test_an_index_that_does_not_answer_is_named_as_the_cause(tool: Tool, locked: Path, tmp_path: Path) -> None:
    index = f"http://{NOTHING_LISTENS}/simple"

    locking = tool("lock", locked / "envbuilder.yaml", "-o", tmp_path / "x.lock", "--index", index, "--upgrade")
    assert locking.status == 5, locking.stderr
    assert "index" in locking.stderr

    shipped = tool("lock", locked / "envbuilder.yaml", "-o", tmp_path / "y.lock", "--index", index)
    assert shipped.status == 0, shipped.stderr
    assert (tmp_path / "y.lock").read_text(encoding="utf-8") == _lock_text(locked)

    building = tool("build", locked, "--no-cache", "--index", index, "--tag", "envbuilder-test/noindex:1")
    assert building.status == 5, building.stderr


def test_an_engine_that_is_asked_for_and_does_not_answer_is_an_error(tool: Tool, locked: Path) -> None:
    done = tool("build", locked, "--engine", "docker", DOCKER_HOST="unix:///nonexistent/docker.sock")

    assert done.status == 6, done.stderr
    assert "next:" in done.stderr


def test_a_base_that_is_gone_is_named_with_what_to_do(tool: Tool) -> None:
    gone = ("--base", "nvidia-cuda-8.0-cudnn6", "--registry-mirror", NOTHING_LISTENS)
    done = tool("build", "tf-1.4-cuda8.0", *gone)

    assert done.status == 5, done.stderr
    assert "nvidia-cuda-8.0-cudnn6" in done.stderr
    assert "next:" in done.stderr


def test_a_debian_base_comes_from_a_mirror_on_loopback(
    tool: Tool, engine: ContainerEngine, locked: Path, tmp_path: Path, loopback_registry: str
) -> None:
    """On a machine that has neither the image nor the tree: the base is pushed, forgotten here, and pulled again."""
    lock = load(_lock_text(locked), "lock")
    assert tool("build", locked, "--tag", "envbuilder-test/sources:2").status == 0
    name = f"envbuilder/base:{lock.base.id}-{lock.base.digest.removeprefix('sha256:')[:12]}"
    known = engine.image(name)
    assert known is not None
    # Another id for the same tree, so that nothing of this machine is taken away.
    text = _without_debs(_lock_text(locked)).replace(f'id: "{lock.base.id}"', 'id: "debian-elsewhere"')
    (tmp_path / "mirrored.lock").write_text(text, encoding="utf-8")
    name = name.replace(lock.base.id, "debian-elsewhere")
    elsewhere = ImageRef.parse(f"{loopback_registry}/{name}")
    engine.tag(known.id, elsewhere)
    engine.push(elsewhere, lambda _: None)
    _forget(str(elsewhere), name)

    arguments = ("build", tmp_path / "mirrored.lock", "--tag", "envbuilder-test/mirrored:2")
    alone = tool(*arguments, ENVBUILDER_CACHE=str(tmp_path / "cache"))
    assert alone.status == 5, alone.stderr
    done = tool(*arguments, "--registry-mirror", loopback_registry, ENVBUILDER_CACHE=str(tmp_path / "cache"))
    assert done.status == 0, done.stderr
    assert engine.image(str(elsewhere)) is not None
    _forget(name)


def _forget(*tags: str) -> None:
    client = docker.from_env()
    for tag in tags:
        if client.images.list(name=tag):
            client.images.remove(tag)
    client.close()
