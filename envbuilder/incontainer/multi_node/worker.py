"""The main program of a worker: meet the others, start TensorFlow, write the facts."""

import argparse
import json
import os
import signal
import socket
import sys
import time

from envbuilder.incontainer.multi_node.cluster import cluster_of
from envbuilder.incontainer.multi_node.findings import FAILED, findings, lines
from envbuilder.incontainer.multi_node.rendezvous import Rendezvous, in_background
from envbuilder.incontainer.multi_node.together import STEPS, part_together
from envbuilder.incontainer.probe.children import Child
from envbuilder.incontainer.probe.machine import distributions
from envbuilder.incontainer.probe.values import CLOCK, first_line, look, text, unseen

SCHEMA = 1
KIND = "multi-node-worker"
PORT = 29500
FINISHED = "finished"  # file in the directory of the child: all workers have finished
GRACE = 20.0  # seconds for TensorFlow to notice by itself that a worker is gone
REMIND = 30.0  # seconds between lines about workers that are missing
# The variables that gRPC reads: https://github.com/grpc/grpc/blob/v1.62.0/doc/environment_variables.md
PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
EXEMPT = ("no_grpc_proxy", "no_proxy")


def own_tensorflow():
    """Return the version of the installed TensorFlow without importing it; empty if it is not known."""
    found = distributions()
    names = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "intel-tensorflow", "tf-nightly")
    return next((found[name] for name in names if name in found), "")


def own_identity():
    """Return the identity of this worker: host, network, versions, proxies by name."""
    try:
        network = os.readlink("/proc/self/ns/net")
    except OSError:
        network = ""
    return {
        "host": socket.gethostname(),
        "network": "{0} {1}".format(first_line("/proc/sys/kernel/random/boot_id") or "", network).strip(),
        "tensorflow": own_tensorflow(),
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "proxies": sorted(name for name in PROXIES if os.environ.get(name)),
        "exempt": ",".join(os.environ.get(name, "") for name in EXEMPT).strip(","),
    }


def stop_for(child, meeting, grace):
    """End the child some time after another worker has ended; TensorFlow may wait for it forever."""
    while child.process.poll() is None:
        if meeting.lost():
            time.sleep(grace)
            try:
                os.killpg(child.process.pid, signal.SIGABRT)
            except OSError:
                pass
            return
        time.sleep(0.2)


def let_end(child, meeting, names):
    """Let the child end when all workers have finished: its server takes part in the last steps of the others."""
    while child.process.poll() is None and not all(name in child.seen for name in names):
        time.sleep(0.05)
    meeting.send({"finished": True})
    while child.process.poll() is None and not meeting.all_finished():
        time.sleep(0.05)
    try:
        open(os.path.join(child.scratch, FINISHED), "w").close()
    except (IOError, OSError):
        pass  # the child has ended by itself


def computed(meeting, config, limit, grace):
    """Run TensorFlow in a child process; return its facts by name, and its last lines of output."""
    os.environ["TF_CONFIG"] = json.dumps(config, sort_keys=True)
    os.environ["ENVBUILDER_WORKER"] = str(meeting.index)
    names = [name for name, _ in STEPS]
    child = Child("together", "", names)
    try:
        in_background(stop_for, child, meeting, grace)
        in_background(let_end, child, meeting, names)
        ended = child.watch(dict.fromkeys([None] + names, limit), CLOCK() + limit)
    finally:
        child.close()
    facts, log = dict(child.seen), [text(line) for line in child.log[-20:]]
    for name in names:
        if name not in facts:
            facts[name] = ended or unseen("NotReached", "an earlier step failed")
            ended = None
    return facts, log


def print_line(line):
    """Write a line for people."""
    sys.stderr.write(u"envbuilder: {0}\n".format(line))
    sys.stderr.flush()


def obstacle_to(meeting, identity, wait, remind):
    """Meet all workers; return why TensorFlow is not started, or an empty text."""
    if not meeting.meet(wait, remind, print_line):
        return "not all workers met"
    if any(peer.hello["tensorflow"] != identity["tensorflow"] for peer in meeting.peers):
        # 2.4 and 2.15 wait for each other without end, and 2.1 crashes with 2.4 (measured 2026-11-23).
        return "the workers have different releases of TensorFlow"
    return ""


def facts_of(cluster, wait, limit, grace, remind):
    """Return all facts of this worker and the rendezvous."""
    identity = own_identity()
    hello = dict((name, identity[name]) for name in ("host", "tensorflow", "python"))
    meeting = Rendezvous(cluster["workers"], cluster["index"], hello)
    facts, log = {"port": look(meeting.listen)}, []
    obstacle = obstacle_to(meeting, identity, wait, remind) if facts["port"]["ok"] else "the port was not free"
    meeting.close()
    if obstacle:
        facts.update((name, unseen("NotReached", obstacle)) for name, _ in STEPS)
    else:
        facts_together, log = computed(meeting, cluster["config"], limit, grace)
        facts.update(facts_together)
    return meeting, {
        "source": cluster["source"],
        "workers": cluster["workers"],
        "index": cluster["index"],
        "identity": identity,
        "peers": [peer.fact() for peer in meeting.peers],
        "facts": facts,
        "log": log,
    }


def put(document, directory, output):
    """Write the facts to a directory, whole or not at all, or to a descriptor."""
    data = (json.dumps(document, sort_keys=True, allow_nan=False) + "\n").encode("ascii")
    if not directory:
        while data:
            data = data[os.write(output, data) :]
        return
    path = os.path.join(directory, "worker-{0}.json".format(document["index"]))
    with open(path + ".part", "wb") as handle:
        handle.write(data)
    os.rename(path + ".part", path)


def child_part(output):
    """Run the part of TensorFlow, and report each step as soon as it is done."""

    def write(document):
        os.write(output, (json.dumps(document, allow_nan=False) + "\n").encode("ascii"))

    def report(name, function, *arguments):
        write({"name": name})
        fact = look(function, *arguments)
        write({"name": name, "fact": fact})
        return fact["ok"]

    if part_together(report):
        parent = os.getppid()
        while os.getppid() == parent and not os.path.exists(os.path.join(os.environ["TMPDIR"], FINISHED)):
            time.sleep(0.05)
    sys.stderr.flush()
    os._exit(0)


def end_with_input():
    """End this process when standard input ends; in a container, all others end with it."""
    while os.read(0, 1 << 12):
        pass
    os._exit(3)


def parse():
    """Return the command line."""
    parser = argparse.ArgumentParser(description="One worker of a check across several machines.")
    parser.add_argument("--workers", metavar="HOST:PORT,...", help="all workers in order; default: TF_CONFIG, or Slurm")
    parser.add_argument("--index", metavar="N", type=int, help="number of this worker, from 0")
    parser.add_argument("--port", type=int, default=PORT, help="first port with Slurm (default: %(default)s)")
    parser.add_argument("--wait", type=float, default=300.0, help="seconds for all to meet (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for TensorFlow (default: %(default)s)")
    parser.add_argument("--facts", metavar="DIRECTORY", default="", help="default: standard output")
    parser.add_argument("--require-result", action="store_true", help="exit with 1 if a check fails")
    parser.add_argument("--end-with-input", action="store_true", help="end when standard input ends")
    parser.add_argument("--grace", type=float, default=GRACE, help=argparse.SUPPRESS)
    parser.add_argument("--remind", type=float, default=REMIND, help=argparse.SUPPRESS)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    return parser, parser.parse_args()


def main():
    """Read the command line, work with the other workers, and write the facts."""
    parser, options = parse()
    here = os.path.dirname(os.path.abspath(__file__))
    # The directory of this file is not part of the environment: nothing in it may shadow a module.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    if options.part:
        child_part(output)
    if options.facts and not os.path.isdir(options.facts):
        parser.error("--facts {0}: no such directory".format(options.facts))
    if options.end_with_input:
        in_background(end_with_input)
    started = CLOCK()
    try:
        cluster = cluster_of(options.workers, options.index, options.port, os.environ)
    except ValueError as error:
        parser.error(str(error))
    meeting, document = facts_of(cluster, options.wait, options.limit, options.grace, options.remind)
    document.update(schema=SCHEMA, kind=KIND, seconds=round(CLOCK() - started, 3))
    put(document, options.facts, output)
    # The findings come last: Kubernetes shows the end of the log of a failed pod.
    for line in lines(document):
        sys.stderr.write(line + u"\n")
    sys.stderr.flush()
    has_result = all(fact["ok"] for fact in document["facts"].values())
    meeting.send({"bye": "done" if has_result else "failed"})
    failed = any(outcome == FAILED for outcome, _, _ in findings(document))
    os._exit(1 if options.require_result and failed else 0)
