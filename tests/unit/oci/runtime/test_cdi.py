"""Specifications of the Container Device Interface: what a command gets, and what is refused by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from envbuilder.core.errors import InvalidInput, UsageError
from envbuilder.oci.runtime.cdi import edits_of, has_gpus
from envbuilder.oci.runtime.host_devices import LIBRARIES

# As `nvidia-ctk cdi generate` of the toolkit 1.17 writes it, with fewer files.
NVIDIA = """\
---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
  - name: "0"
    containerEdits:
      deviceNodes:
        - path: /dev/nvidia0
          major: 195
          fileMode: 438
          permissions: rw
      hooks:
        - hookName: createContainer
          path: /usr/bin/nvidia-cdi-hook
          args: [nvidia-cdi-hook, chmod, --mode, "755", --path, /dev/dri]
  - name: all
    containerEdits:
      deviceNodes:
        - path: /dev/nvidia0
        - path: /dev/nvidia1
containerEdits:
  env:
    - NVIDIA_VISIBLE_DEVICES=void
  deviceNodes:
    - path: /dev/nvidiactl
    - path: /dev/nvidia-caps/nvidia-cap1
      hostPath: /dev/nvidia-cap-of-the-host
  mounts:
    - hostPath: /usr/lib64/libcuda.so.550.54.15
      containerPath: /usr/lib64/libcuda.so.550.54.15
      options: [ro, nosuid, nodev, rbind, rprivate]
    - hostPath: /usr/bin/nvidia-smi
      containerPath: /usr/bin/nvidia-smi
      options: [ro, nosuid, nodev, bind]
  hooks:
    - hookName: createContainer
      path: /usr/bin/nvidia-ctk
      args: [nvidia-ctk, hook, create-symlinks, --link, "libcuda.so.550.54.15::/usr/lib64/libcuda.so"]
    - hookName: createContainer
      path: /usr/bin/nvidia-cdi-hook
      args: [nvidia-cdi-hook, enable-cuda-compat, --host-driver-version=550.54.15]
    - hookName: createContainer
      path: /usr/bin/nvidia-cdi-hook
      args: [nvidia-cdi-hook, update-ldcache, --folder, /usr/lib64]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host with the files that the specification names; its nodes are plain files."""
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-cap-of-the-host"):
        _touch(tmp_path / "dev" / name)
    _touch(tmp_path / "usr/bin/nvidia-smi")
    library = tmp_path / "usr/lib64/libcuda.so.550.54.15"
    _touch(library)
    shutil.copy("/lib/x86_64-linux-gnu/libm.so.6", library)
    _write(tmp_path, NVIDIA)
    return tmp_path


def _touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def _write(root: Path, text: str, name: str = "etc/cdi/nvidia.yaml") -> None:
    _touch(root / name)
    (root / name).write_text(text, encoding="utf-8")


def test_one_gpu_gets_its_nodes_and_those_of_the_driver(root: Path) -> None:
    edits = edits_of(("nvidia.com/gpu=0",), root)
    assert edits.env == (("NVIDIA_VISIBLE_DEVICES", "void"),)
    assert edits.nodes == (
        (f"{root}/dev/nvidiactl", "/dev/nvidiactl"),
        (f"{root}/dev/nvidia-cap-of-the-host", "/dev/nvidia-caps/nvidia-cap1"),
        (f"{root}/dev/nvidia0", "/dev/nvidia0"),
    )


def test_no_name_means_all_gpus(root: Path) -> None:
    assert "/dev/nvidia1" in {target for _, target in edits_of((), root).nodes}
    _write(root, NVIDIA.replace("name: all", 'name: "1"'))
    assert {target for _, target in edits_of((), root).nodes} >= {"/dev/nvidia0", "/dev/nvidia1"}


def test_libraries_get_a_directory_of_their_own_under_every_name(root: Path) -> None:
    """The link of the hook, and the name that other libraries load it by: no ldconfig runs."""
    placed = edits_of((), root).placed()
    library = f"{root}/usr/lib64/libcuda.so.550.54.15"
    assert {target: source for source, target in placed.mounts} == {
        "/usr/bin/nvidia-smi": f"{root}/usr/bin/nvidia-smi",
        f"{LIBRARIES}/libcuda.so": library,
        f"{LIBRARIES}/libcuda.so.550.54.15": library,
        f"{LIBRARIES}/libm.so.6": library,
    }
    assert dict(placed.env)["LD_LIBRARY_PATH"] == LIBRARIES


def test_a_later_directory_replaces_a_device_and_json_is_read_too(root: Path) -> None:
    device = {"name": "0", "containerEdits": {"env": ["WHICH=later"]}}
    _write(
        root,
        json.dumps({"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "devices": [device]}, indent=2),
        "var/run/cdi/x.json",
    )
    assert edits_of(("nvidia.com/gpu=0",), root).env == (("WHICH", "later"),)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("update-ldcache", "install-rootkit", "the hook nvidia-cdi-hook install-rootkit"),
        ("path: /usr/bin/nvidia-ctk\n", "path: /opt/other\n", "the hook createContainer /opt/other"),
        ("hookName: createContainer", "hookName: prestart", "the hook prestart"),
        ("options: [ro, nosuid, nodev, bind]", "options: [rw]", "the writable mount /usr/bin/nvidia-smi"),
        ("options: [ro, nosuid, nodev, bind]", "type: tmpfs", "a mount of type tmpfs"),
        ("NVIDIA_VISIBLE_DEVICES=void", "NVIDIA", "the variable 'NVIDIA'"),
        ("- path: /dev/nvidiactl", "- path: /etc/nvidiactl", "the device node /etc/nvidiactl outside /dev"),
        ("- path: /dev/nvidiactl", "- path: /dev/../nvidiactl", "outside /dev"),
        ("- path: /dev/nvidiactl", "- path: /dev/nvidia-gone", "/dev/nvidia-gone does not exist"),
        ("- hostPath: /usr/bin/nvidia-smi", "- hostPath: /usr/bin/gone", "/usr/bin/gone does not exist"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(root: Path, before: str, after: str, said: str) -> None:
    assert before in NVIDIA
    _write(root, NVIDIA.replace(before, after))
    with pytest.raises(UsageError, match=r"nvidia\.yaml: ") as refusal:
        edits_of((), root)
    assert said in refusal.value.message
    assert refusal.value.hint


def test_an_unknown_field_is_refused_with_its_line(root: Path) -> None:
    _write(root, NVIDIA.replace("  mounts:\n", "  additionalGids: [44]\n  mounts:\n"))
    with pytest.raises(InvalidInput, match=r"nvidia\.yaml:28: containerEdits\.additionalGids"):
        edits_of((), root)


def test_a_device_that_no_file_describes_is_refused_with_the_known_ones(root: Path) -> None:
    with pytest.raises(UsageError, match=r"no CDI device nvidia\.com/gpu=7 on this host; devices: nvidia\.com/gpu=0, "):
        edits_of(("nvidia.com/gpu=7",), root)


def test_a_host_without_specifications_has_no_gpus(tmp_path: Path) -> None:
    assert not has_gpus(tmp_path)
    with pytest.raises(UsageError, match=r"no CDI device nvidia\.com/gpu on this host; devices: none"):
        edits_of((), tmp_path)
