"""Layers that start lazily, mounted by the file system of stargz-snapshotter, which verifies what it reads."""

from __future__ import annotations

import hashlib
import os
import random
from pathlib import Path

import pytest

from envbuilder.oci.layout.directory import write_layout
from envbuilder.oci.store import Store
from tests.contract.conftest import REQUIRED
from tests.contract.test_delivery import CONFIG, lazy_image
from tests.unit.oci.layout.images import file, folder, symlink
from tools.lazy_start.measure import Measured, build_program, measured

_LIBRARY = Path("/usr/share/gocode/src/github.com/containerd/stargz-snapshotter/fs")
_SIZE = 300_000
_NAMES = [f"opt/{number:02}" for number in range(20)]
_READ = ("/opt/03", "/opt/11", "/opt/17")


@pytest.fixture(scope="module")
def mounter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if os.geteuid() or not _LIBRARY.is_dir() or not Path("/dev/fuse").exists():
        needs = "root, /dev/fuse, golang-go, golang-github-containerd-stargz-snapshotter-dev and fuse3"
        (pytest.fail if REQUIRED else pytest.skip)(f"mounting layers lazily needs {needs}")
    return build_program(tmp_path_factory.mktemp("program"), os.environ)


def test_listed_files_are_there_before_a_container_starts_and_others_are_not(mounter: Path, tmp_path: Path) -> None:
    store = Store(folder=tmp_path / "store")
    busybox = file("bin/busybox", Path("/bin/busybox").read_bytes(), mode=0o755)
    base = [*map(folder, ("bin", "dev", "proc", "tmp")), busybox, symlink("bin/sh", "busybox")]
    noise = random.Random(0)  # noqa: S311  content that no compressor makes smaller
    large = [folder("opt"), *(file(name, noise.randbytes(_SIZE)) for name in _NAMES)]
    known = {f"/{info.name}": content for info, content in large}
    found: dict[bool, Measured] = {}
    for first in (frozenset[str](), frozenset(_READ)):
        place = tmp_path / f"listed-{len(first)}"
        place.mkdir()
        made = lazy_image(store, place, base, large, config={**CONFIG, "Env": ["PATH=/bin"]}, first=first)
        write_layout(made, store, place / "layout", ("one",))
        (place / "work").mkdir()
        sums = [f"echo '{_sum(known[path])}  {path}' | busybox sha256sum -c" for path in _READ]
        command = ("/bin/sh", "-c", " && ".join(sums))
        found[bool(first)] = measured(place / "layout", command, 0.0, mounter, place / "work")
    assert [each.status for each in found.values()] == [0, 0]
    later = {listed: each.total.requests - each.mounts.requests for listed, each in found.items()}
    # The base, of which both read busybox, and the three files.
    assert later[False] - later[True] >= len(_READ)
    assert found[True].layers[1].sent < 1.2 * found[False].layers[1].sent < found[True].size / 3


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
