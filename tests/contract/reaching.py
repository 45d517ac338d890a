"""Two hosts of a virtual network: one serves a line on a port, the other reads it. Also a program, for other users."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from envbuilder.oci.runtime.networks import in_network, linked_networks
from envbuilder.oci.runtime.sandbox import Sandbox, Task
from envbuilder.oci.runtime.selection import candidates, joining

_PROGRAMS = "/usr/sbin:/usr/bin:/sbin:/bin"
_SERVE = "echo from host 1 | busybox nc -l -p 7000"
_READ = "until busybox nc 10.83.0.2 7000 < /dev/null; do sleep 0.1; done; busybox ip route; busybox wc -l < /etc/hosts"
_HOSTS = b"10.83.0.1 worker-0\n10.83.0.2 worker-1\n"


def reach(tree: Path, work: Path, name: str) -> list[str]:
    """Return the lines that the first host read from the second, its routes, and the lines of its list of hosts.

    Args:
        tree: A tree of busybox.
        work: For files of runs.
        name: Sandbox to use; empty for the one that is chosen.
    """
    with linked_networks(2) as networks, ThreadPoolExecutor(2) as pool:
        assert not networks.shared, networks.shared
        assert networks.addresses == ("10.83.0.1", "10.83.0.2")
        sandbox: Sandbox = joining(work, _PROGRAMS, networks.joined[0])
        if name:
            sandbox = next(each for each in candidates(work, _PROGRAMS) if each.name == name)
        hosts = [in_network(sandbox, each) for each in networks.joined]
        tasks = [
            Task(
                tree=tree,
                command=("/bin/sh", "-c", script),
                env=(("PATH", "/bin"),),
                files=(("/etc/hosts", _HOSTS),),
                timeout=60.0,
            )
            for script in (_READ, _SERVE)
        ]
        running = [pool.submit(host.run, task) for host, task in zip(hosts, tasks, strict=True)]
        read = running[0].result()
        assert read.status == 0, read
        return read.stdout.decode().splitlines()


if __name__ == "__main__":
    print(json.dumps(reach(Path(sys.argv[1]), Path(sys.argv[2]), "")))
