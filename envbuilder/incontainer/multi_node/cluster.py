"""The workers of a job: from the command line, TF_CONFIG or the variables of Slurm."""

import json
import re

TOGETHER = ("chief", "worker")
NODES = ("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST")
TASKS = ("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE")


def cluster_of(workers, index, port, environ):
    """Return source, addresses of all workers, number of this one, and TF_CONFIG; raise ValueError without any.

    Workers are numbered from 0, a chief first. `workers` and `index` are those of the command line, or None.
    """
    if workers is not None or index is not None:
        return by_options(workers, index)
    if environ.get("TF_CONFIG"):
        return by_config(environ["TF_CONFIG"])
    if environ.get("SLURM_PROCID"):
        return by_slurm(environ, port)
    raise ValueError("no workers: set TF_CONFIG, start it by srun, or give --workers HOST:PORT,... and --index N")


def by_options(workers, index):
    """Return the cluster of a list of addresses."""
    if workers is None or index is None:
        raise ValueError("--workers and --index belong together")
    return described("command line", [each.strip() for each in workers.split(",") if each.strip()], index)


def by_config(written):
    """Return the cluster of TF_CONFIG; parameter servers and evaluators take no part in an all-reduce."""
    try:
        config = json.loads(written)
        tasks, own = config["cluster"], config["task"]
        kind, index = own["type"], int(own["index"])
        members = [(name, number) for name in TOGETHER for number in range(len(tasks.get(name, [])))]
        addresses = [tasks[name][number] for name, number in members]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError("TF_CONFIG is not usable: {0}: {1}".format(type(error).__name__, error))
    if (kind, index) not in members:
        raise ValueError("TF_CONFIG names the task {0} {1}, which is no worker of its cluster".format(kind, index))
    return dict(described("TF_CONFIG", addresses, members.index((kind, index))), config=config)


def by_slurm(environ, port):
    """Return the cluster of a step of Slurm, whose tasks are numbered node by node."""
    nodes = hosts_of(first_of(NODES, environ))
    counts = counts_of(first_of(TASKS, environ))
    if len(counts) != len(nodes):
        raise ValueError("Slurm names {0} nodes and the tasks of {1}".format(len(nodes), len(counts)))
    addresses = [
        "{0}:{1}".format(node, port + number) for node, count in zip(nodes, counts) for number in range(count)
    ]
    return described("Slurm", addresses, int(environ["SLURM_PROCID"]))


def first_of(names, environ):
    """Return the first variable that is set."""
    for name in names:
        if environ.get(name):
            return environ[name]
    raise ValueError("Slurm set none of {0}".format(", ".join(names)))


def hosts_of(text):
    """Return the hosts of a list of Slurm: `node[01-03,7],login` is node01, node02, node03, node7 and login."""
    return [host for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text) for host in expanded(part)]


def expanded(part):
    """Return the hosts of one name with ranges in brackets."""
    found = re.match(r"([^\[]*)\[([^\]]*)\](.*)$", part)
    if not found:
        return [part]
    before, ranges, after = found.groups()
    return [before + number + rest for number in numbers_of(ranges) for rest in expanded(after)]


def numbers_of(ranges):
    """Return the numbers of ranges as text, with their leading zeros."""
    numbers = []
    for each in ranges.split(","):
        first, _, last = each.partition("-")
        numbers += [str(number).zfill(len(first)) for number in range(int(first), int(last or first) + 1)]
    return numbers


def counts_of(text):
    """Return the number of tasks of each node: `2(x3),1` is 2, 2, 2, 1."""
    counts = []
    for each in text.split(","):
        count, times = re.match(r"(\d+)(?:\(x(\d+)\))?$", each.strip()).groups()
        counts += [int(count)] * int(times or 1)
    return counts


def described(source, addresses, index):
    """Return a cluster with the TF_CONFIG of this worker."""
    if len(addresses) < 2:
        raise ValueError("{0} names {1} workers; two are the fewest".format(source, len(addresses)))
    if not 0 <= index < len(addresses):
        raise ValueError("{0}: there is no worker {1} among {2}".format(source, index, len(addresses)))
    for address in addresses:
        host_and_port(address)
    config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
    return {"source": source, "workers": addresses, "index": index, "config": config}


def host_and_port(address):
    """Return host and port of an address; an IPv6 address stands in brackets."""
    found = re.match(r"\[?([^\[\]]+?)\]?:(\d+)$", address)
    if not found:
        raise ValueError("{0!r} is not HOST:PORT".format(address))
    return found.group(1), int(found.group(2))
