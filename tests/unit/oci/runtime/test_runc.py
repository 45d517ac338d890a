"""The configuration of a container of runc."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from envbuilder.oci.runtime.root_mounts import make_skeleton
from envbuilder.oci.runtime.runc import bundle
from envbuilder.oci.runtime.sandbox import BUILD_LIMITS, FOREIGN, Task


def configured(tmp_path: Path, *, as_root: bool, deep: bool = True, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    for name in ("tree", "work", "given"):
        (tmp_path / name).mkdir()
    given = ((str(tmp_path / "given"), "/mnt/given"),)
    task = Task(tree=tmp_path / "tree", command=("x",), mounts=given, **more)
    skeleton = make_skeleton(task, tmp_path / "work")
    return cast("dict[str, Any]", bundle(task, skeleton, as_root=as_root, filters=True, deep=deep))


def mount(config: dict[str, Any], target: str) -> tuple[str, list[str]]:
    [found] = [each for each in config["mounts"] if each["destination"] == target]
    return found["type"], found["options"]


def test_root_gets_a_sys_of_its_own_with_nothing_mounted_below_it(tmp_path: Path) -> None:
    kind, options = mount(configured(tmp_path, as_root=True, host_network=True), "/sys")
    assert kind == "sysfs"
    assert "ro" in options


@pytest.mark.parametrize(
    ("as_root", "deep", "wanted"),
    [
        (True, True, {"rbind", "rro"}),
        (False, True, {"rbind", "rro"}),
        (True, False, {"bind"}),
        (False, False, {"rbind"}),
    ],
)
def test_a_read_only_mount_has_nothing_below_it_that_root_can_write(
    tmp_path: Path, as_root: bool, deep: bool, wanted: set[str]
) -> None:
    _, options = mount(configured(tmp_path, as_root=as_root, deep=deep), "/mnt/given")
    assert "ro" in options
    assert {"bind", "rbind", "rro"} & set(options) == wanted


def test_the_control_groups_are_hidden(tmp_path: Path) -> None:
    config = configured(tmp_path, as_root=False, host_network=True, hidden=("/usr/x",))
    assert {"/sys/fs/cgroup", "/usr/x"} <= set(config["linux"]["maskedPaths"])


def test_foreign_code_has_accounts_of_its_own_and_limits(tmp_path: Path) -> None:
    config = configured(tmp_path, as_root=True, uid=FOREIGN, gid=FOREIGN, limits=BUILD_LIMITS)
    assert {"type": "user"} in config["linux"]["namespaces"]
    assert {"type": "network"} in config["linux"]["namespaces"]
    assert config["linux"]["resources"]["memory"] == {"limit": BUILD_LIMITS.memory}
    limits = {each["type"]: each["hard"] for each in config["process"]["rlimits"]}
    assert limits["RLIMIT_AS"] <= BUILD_LIMITS.memory
    assert limits["RLIMIT_CORE"] == 0
    assert config["process"]["user"] == {"uid": FOREIGN, "gid": FOREIGN}
