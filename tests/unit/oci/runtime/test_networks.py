"""Commands in a network namespace that exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.core.errors import ToolFailed
from envbuilder.oci.runtime.namespaces import described
from envbuilder.oci.runtime.network_init import address
from envbuilder.oci.runtime.networks import in_network, linked_networks
from envbuilder.oci.runtime.root_mounts import make_skeleton
from envbuilder.oci.runtime.sandbox import FOREIGN, JoinedNetwork, Task
from tests.unit.image.running.test_runner import Telling
from tests.unit.oci.runtime.test_runc import configured, mount

_NETWORK = JoinedNetwork(network="/proc/1/ns/net")
_OWNED = JoinedNetwork(network="/proc/1/ns/net", accounts="/proc/1/ns/user")


def test_a_command_is_run_in_the_network_and_not_in_that_of_this_host(tmp_path: Path) -> None:
    telling = Telling()
    inside = in_network(telling, _NETWORK)
    inside.run(Task(tree=tmp_path, command=("x",), host_network=True))
    assert (inside.name, inside.version) == (telling.name, telling.version)
    assert [(task.host_network, task.joined) for task in telling.tasks] == [(False, _NETWORK)]


def test_runc_gets_the_path_of_the_namespace(tmp_path: Path) -> None:
    config = configured(tmp_path, as_root=True, joined=_NETWORK)
    assert {"type": "network", "path": "/proc/1/ns/net"} in config["linux"]["namespaces"]
    assert {"type": "network"} not in config["linux"]["namespaces"]
    assert mount(config, "/sys")[0] == "sysfs"


def test_a_user_namespace_inside_of_the_network_gets_the_sys_of_this_host(tmp_path: Path) -> None:
    config = configured(tmp_path, as_root=True, joined=_NETWORK, uid=FOREIGN, gid=FOREIGN)
    assert mount(config, "/sys")[0] != "sysfs"


def test_the_owner_of_a_network_is_joined_before_it(tmp_path: Path) -> None:
    for name in ("tree", "work"):
        (tmp_path / name).mkdir()
    task = Task(tree=tmp_path / "tree", command=("x",), joined=_OWNED)
    document = described(task, make_skeleton(task, tmp_path / "work"), as_root=False)
    assert document["joined"] == ["/proc/1/ns/user", "/proc/1/ns/net"]
    assert not document["host_network"]


def test_hosts_have_addresses_of_their_own() -> None:
    assert [address(number) for number in range(3)] == ["10.83.0.1", "10.83.0.2", "10.83.0.3"]


def _program(folder: Path, most: int) -> Path:
    """Return a program that makes up to so many namespaces, and says why not more."""
    file = folder / "makes.py"
    file.write_text(
        "import json, sys\n"
        "count = int(sys.argv[1])\n"
        "paths = [f'/proc/7/fd/{number}' for number in range(count)]\n"
        f"refused = count > {most}\n"
        "print(json.dumps({'error': 'no veth'} if refused else {'networks': paths, 'accounts': ''}), flush=True)\n"
        "sys.stdin.read()\n",
        encoding="utf-8",
    )
    return file


def test_each_host_has_a_network_of_its_own(tmp_path: Path) -> None:
    with linked_networks(3, _program(tmp_path, 3)) as networks:
        assert [each.network for each in networks.joined] == ["/proc/7/fd/0", "/proc/7/fd/1", "/proc/7/fd/2"]
        assert (networks.addresses[2], networks.shared) == ("10.83.0.3", "")


def test_where_the_kernel_links_none_the_hosts_share_one_and_the_reason_is_told(tmp_path: Path) -> None:
    with linked_networks(2, _program(tmp_path, 1)) as networks:
        assert {each.network for each in networks.joined} == {"/proc/7/fd/0"}
        assert (networks.addresses, networks.shared) == (("127.0.0.1", "127.0.0.1"), "no veth")


def test_without_any_network_namespace_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="no veth"), linked_networks(2, _program(tmp_path, 0)):
        pass
