"""GPUs of a host: by CDI, by nvidia-container-cli, or a refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.core.errors import ToolFailed, UsageError
from envbuilder.image.running.host_gpus import HostGpus


def host(folder: Path, *, driver: bool = True, script: str = "") -> HostGpus:
    """Make a host, with a program in place of nvidia-container-cli if there is a script."""
    if driver:
        place = folder / "root/proc/driver/nvidia/version"
        place.parent.mkdir(parents=True)
        place.touch()
    if script:
        program = folder / "programs/nvidia-container-cli"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    return HostGpus(root=folder / "root", search_path=str(folder / "programs"))


def test_the_program_lists_nodes_and_files(tmp_path: Path) -> None:
    gpus = host(tmp_path, script='[ "$*" = list ] && echo /dev/null && echo /usr/bin/env')
    assert gpus.available()
    edits = gpus.edits(())
    assert edits.nodes == (("/dev/null", "/dev/null"),)
    assert edits.mounts == (("/usr/bin/env", "/usr/bin/env"),)


def test_a_program_that_fails_is_an_error_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="status 1: initialization error: driver not loaded"):
        host(tmp_path, script="echo initialization error: driver not loaded >&2; exit 1").edits(())


@pytest.mark.parametrize(("driver", "script"), [(True, ""), (False, "echo /dev/null")])
def test_a_host_without_both_refuses_and_says_what_to_install(tmp_path: Path, driver: bool, script: str) -> None:
    gpus = host(tmp_path, driver=driver, script=script)
    assert not gpus.available()
    with pytest.raises(UsageError, match="no GPUs for a command without a container engine") as refusal:
        gpus.edits(())
    assert "nvidia-ctk cdi generate" in refusal.value.hint


def test_a_named_device_needs_a_specification(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no CDI device nvidia\.com/gpu=0"):
        host(tmp_path, script="echo /dev/null").edits(("nvidia.com/gpu=0",))
