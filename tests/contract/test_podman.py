"""What only a real podman can show: changes that it keeps."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.image.running.changes import kept_in, remove_kept
from envbuilder.image.running.kept_images import container_of
from envbuilder.image.running.node_runtimes import find_program
from envbuilder.image.running.podman import PodmanRunner
from envbuilder.oci.runtime.command import Console, RunRequest
from tests.contract.conftest import REQUIRED
from tests.contract.test_consumers import CONTAINERS
from tests.contract.trees import busybox_tree

_STORAGE = '[storage]\ndriver = "overlay"\ngraphroot = "{}/images"\nrunroot = "{}/run"\n'


@pytest.fixture
def podman() -> Iterator[PodmanRunner]:
    """podman with a storage of its own, and `envbuilder-test/base:1` in it."""
    if not shutil.which("podman") or os.geteuid():
        (pytest.fail if REQUIRED else pytest.skip)("podman is not installed, or not as root")
    # podman refuses a runroot of more than 50 characters.
    with tempfile.TemporaryDirectory(prefix="podman-", ignore_cleanup_errors=True) as name:
        place = Path(name)
        (place / "containers.conf").write_text(CONTAINERS)
        (place / "storage.conf").write_text(_STORAGE.format(place, place))
        environ = {
            **os.environ,
            "CONTAINERS_CONF": str(place / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(place / "storage.conf"),
        }
        tree = busybox_tree(place / "tree")
        shutil.make_archive(str(place / "tree"), "tar", tree)
        made = PodmanRunner(
            program=find_program(("podman",), environ), work=place / "work", kept=lambda: place / "kept"
        )
        settings = ("--change", "ENV WORD=image", "--change", "USER 1000")
        imported = made.program.call(
            ("import", "--quiet", *settings, str(place / "tree.tar"), "envbuilder-test/base:1"), timeout=60
        )
        assert imported.status == 0, imported.stderr
        yield made
        made.program.call(("rm", "--all", "--force"), timeout=60)
        made.program.call(("rmi", "--all", "--force"), timeout=60)


def test_kept_changes_are_files_only_and_go_with_their_name(podman: PodmanRunner) -> None:
    def follow(script: str, **more: object) -> tuple[int, str]:
        said: list[bytes] = []
        base = RunRequest(
            image="envbuilder-test/base:1",
            command=("/bin/sh", "-c", f"export PATH=/bin; {script}"),
            writable=True,
            keep="mine",
        )
        request = replace(base, **more)  # type: ignore[arg-type]
        status = podman.follow(request, Console(output=lambda _, piece: said.append(piece)))
        return status, b"".join(said).decode()

    given = (("TOKEN", "secret"), ("WORD", "other"))
    assert follow("echo one > /one; busybox rm /opt/deep/there; exit 3", env=given, user="0") == (3, "")
    assert follow("cat /one; ls /opt/deep; echo $TOKEN.$WORD; id -u") == (0, "one\n.image\n1000\n")
    (kept,) = kept_in(podman.kept())

    def layers() -> int:
        shown = podman.program.call(("image", "inspect", kept.reference), timeout=60)
        return len(json.loads(shown.stdout)[0]["RootFS"]["Layers"])

    # podman itself has added the group of the user.
    assert layers() == 3
    assert follow("exit 0") == (0, "")
    assert layers() == 3, "a run without changes adds a layer"
    assert follow("busybox rm /one; echo two > /two", user="0") == (0, "")
    assert follow("ls /one /two 2>/dev/null") == (1, "/two\n")
    assert layers() == 4
    remove_kept(podman.kept(), "mine", lambda kept: podman.forget(container_of(kept), kept.reference))
    assert podman.image("envbuilder-test/base:1")
    listed = podman.program.call(("images", "--all", "--quiet"), timeout=60).stdout.split()
    assert len(listed) == 1, "an image of an earlier run is left"
