"""The environment of an image is whole in the programs that run images, whatever the host has set."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envbuilder.oci.layout.archive import write_archive
from envbuilder.oci.layout.directory import write_layout
from envbuilder.oci.layout.sif import write_sif
from envbuilder.oci.layout.squashfs import write_squashfs
from envbuilder.oci.runtime.selection import choose
from envbuilder.oci.store import Store
from tests.contract.conftest import ENGINES, REQUIRED
from tests.unit.oci.layout.images import file, folder, image, symlink
from tools.consumers import CONSUMERS, HOSTILE, Consumer, Forms, environment_in, forms_in, leaked, lost

pytestmark = pytest.mark.xdist_group("engine")

NOT_IN_DEBIAN_12 = frozenset({"apptainer", "enroot"})
"""Programs that `.ci/test-tools` cannot install; everywhere else a missing one is a failure."""

ENV = (
    "PATH=/opt/venv/bin:/bin",
    "VIRTUAL_ENV=/opt/venv",
    "LANG=C.UTF-8",
    "ENVBUILDER_MEMORY=growth",
    'WORD=it\'s "two"',
)
LINKS = ("sh", "env", "mkdir", "cat", "id", "sleep")
FOLDERS = ("dev", "etc", "home/app", "opt/venv/bin", "proc", "root", "sys", "tmp", "usr/bin", "var/tmp", "workspace")

# runc instead of crun, which does not run below a hybrid cgroup; limits that may be set without CAP_SYS_RESOURCE.
CONTAINERS = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "file"
"""


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Forms:
    """A tiny image in every form."""
    place = tmp_path_factory.mktemp("forms")
    store = Store(folder=place / "store")
    members = [
        *(folder(name) for name in FOLDERS),
        folder("bin"),
        file("bin/busybox", Path("/bin/busybox").read_bytes(), mode=0o755),
        *(symlink(f"bin/{name}", "busybox") for name in LINKS),
        symlink("usr/bin/env", "/bin/busybox"),
        file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\napp:x:1000:1000::/home/app:/bin/sh\n"),
        file("etc/group", b"root:x:0:\napp:x:1000:\n"),
    ]
    config = {"Env": list(ENV), "Cmd": ["sh"], "User": "app", "WorkingDir": "/workspace"}
    made = image(store, members, config=config, bill=b"{}")
    names = ("envbuilder/consumers:latest", "envbuilder/consumers:1")
    write_layout(made, store, place / "layout", names)
    write_archive(made, store, place / "image.tar", names)
    paths = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    sandbox = choose(place / "work", paths)
    write_squashfs(made, store, place / "image.sqsh", epoch=7, search_path=paths, sandbox=lambda: sandbox)
    write_sif(place / "image.sqsh", place / "image.sif", digest=made.manifest.descriptor.digest, epoch=7)
    (place / "containers.conf").write_text(CONTAINERS)
    return forms_in(place, place / "scratch", {**os.environ, "CONTAINERS_CONF": str(place / "containers.conf")})


@pytest.mark.parametrize(
    "consumer",
    [
        pytest.param(one, id=one.name)
        for one in CONSUMERS
        # It needs a daemon of its own at a fixed place: by tools/consumers.py.
        if one.program != "ctr"
    ],
)
def test_a_command_has_the_environment_of_the_image(consumer: Consumer, forms: Forms) -> None:
    missing = consumer.missing()
    if missing:
        refuse = pytest.fail if REQUIRED and missing not in NOT_IN_DEBIAN_12 else pytest.skip
        refuse(f"{missing} is not installed")
    if consumer.program == "docker" and "docker" not in ENGINES:
        pytest.skip("no Docker engine answers")
    environment = environment_in(consumer, forms)
    assert set(lost(environment, forms)) <= (set() if consumer.is_exact else {"WORD"})
    assert set(leaked(environment)) <= (set() if consumer.is_exact else set(HOSTILE))
