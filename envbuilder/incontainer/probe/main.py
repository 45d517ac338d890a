"""The main program: request in, facts out."""

import argparse
import json
import os
import re
import sys

from envbuilder.incontainer.probe.children import NOT_ENOUGH, Steps, use_writable_directory
from envbuilder.incontainer.probe.compute import compute, part_compute
from envbuilder.incontainer.probe.driver import driver, loader, part_driver
from envbuilder.incontainer.probe.framework import build, devices, imported
from envbuilder.incontainer.probe.gpu_memory import part_memory
from envbuilder.incontainer.probe.gpu_operations import function_on, mixed_on, operations_on
from envbuilder.incontainer.probe.gpu_speed import first_kernels, latency_on, throughput_on
from envbuilder.incontainer.probe.gpu_together import all_reduce
from envbuilder.incontainer.probe.gpu_training import compiled_on, training_on
from envbuilder.incontainer.probe.host import host, part_nodes
from envbuilder.incontainer.probe.libraries import cudnn, cudnn_soname, libraries, part_cudnn, part_libraries
from envbuilder.incontainer.probe.machine import distributions, interpreter, machine
from envbuilder.incontainer.probe.memory_policy import memory_policy
from envbuilder.incontainer.probe.node import clock, network, node_facts, part_node, scheduler
from envbuilder.incontainer.probe.nvml import nvml_fact, part_nvml
from envbuilder.incontainer.probe.operations import on_gpu
from envbuilder.incontainer.probe.own_check import own_check_fact, part_own_check
from envbuilder.incontainer.probe.placing import on_every_gpu
from envbuilder.incontainer.probe.rehearsal import part_rehearsal, rehearse
from envbuilder.incontainer.probe.software import software
from envbuilder.incontainer.probe.toolkit import known_sonames
from envbuilder.incontainer.probe.training import saving, training
from envbuilder.incontainer.probe.values import CLOCK, look, text, unseen

SCHEMA = 1
TENSORFLOW_LIMIT = 600

# Name, condition in the request, and function of the fact.
STEPS = (
    ("import", "", imported, ()),
    ("build", "", build, ()),
    ("memory-policy", "", memory_policy, ()),
    ("devices", "", devices, ()),
    ("gpu-first", "gpu", on_every_gpu(first_kernels), ()),
    ("training", "train", training, ("keep",)),
    ("saving", "train", saving, ("keep",)),
    ("gpu", "gpu", on_gpu, ()),
    ("gpu-operations", "gpu", on_every_gpu(operations_on), ()),
    ("gpu-training", "gpu", on_every_gpu(training_on), ()),
    ("gpu-function", "gpu", on_every_gpu(function_on), ()),
    ("gpu-xla", "gpu", on_every_gpu(compiled_on), ()),
    ("gpu-mixed", "gpu", on_every_gpu(mixed_on), ()),
    ("gpu-latency", "gpu", on_every_gpu(latency_on), ()),
    ("gpu-throughput", "gpu", on_every_gpu(throughput_on), ()),
    ("gpu-all-reduce", "gpu", all_reduce, ()),
)
# Each in a process of its own, after all others, so that its use of memory does not disturb them.
MEMORY_STEPS = ("gpu-memory", "gpu-memory-limit")
# The first kernel waits until the driver has compiled PTX, and the first operations until cuDNN has chosen.
BUDGETS = {"import": 300, "gpu-first": 600, "gpu": 600, "gpu-operations": 300, "gpu-xla": 300, "gpu-memory": 300}


def part_tensorflow(request, report, only):
    """Child: everything that needs TensorFlow in the process; imported once."""
    keep = {}
    if "import" not in only:
        imported()
    elif not report("import", imported):
        return
    for name, _, function, arguments in STEPS:
        if name in only and function is not imported:
            report(name, function, *[keep if argument == "keep" else request for argument in arguments])


def asked_steps(request):
    """Return the steps in TensorFlow that a request contains, in their order."""
    return [name for name, need, _, _ in STEPS if not need or request[need]]


def tensorflow(request, path):
    """Return all facts that need TensorFlow."""
    budgets = dict(BUDGETS, **request["budgets"])
    steps = Steps("tensorflow", path, asked_steps(request), budgets, request["limit"])
    seen = steps.run(first="import")
    missing = unseen("NotReached", "TensorFlow did not import")
    facts = dict(("tensorflow-" + name, seen.get(name) or missing) for name in asked_steps(request))
    facts.update(memory_facts(request, path, budgets, steps.deadline))
    facts["tensorflow-log"] = {"ok": True, "seconds": 0.0, "value": telling(steps.log)}
    return facts


def memory_facts(request, path, budgets, deadline):
    """Return the facts about memory, within the remaining time."""
    facts = {}
    for name in MEMORY_STEPS if request["gpu"] else ():
        left = deadline - CLOCK()
        seen = Steps("memory", path, [name], budgets, left).run() if left > NOT_ENOUGH else {}
        facts["tensorflow-" + name] = seen.get(name) or unseen("NotReached", "the time for all steps was used up")
    return facts


def telling(log):
    """Return warnings and errors about libraries and GPUs among the lines of TensorFlow, at most the last 20."""
    marks = re.compile(r"[:\s][WEF]\d* .*(cuda|cudnn|cublas|gpu|GPU|CUDA|dynamic library)", re.IGNORECASE)
    return [text(line) for line in log if marks.search(line)][-20:]


PARTS = {
    "libraries": part_libraries,
    "cudnn": part_cudnn,
    "driver": part_driver,
    "nvml": part_nvml,
    "nodes": part_nodes,
    "node": part_node,
    "compute": part_compute,
    "own-check": part_own_check,
    "tensorflow": part_tensorflow,
    "memory": part_memory,
    "rehearsal": part_rehearsal,
}


def read_request(path):
    """Return the request with all fields; raise an error of the caller for a field of the wrong type."""
    asked = {}
    if path:
        with open(path, "rb") as handle:
            asked = json.loads(handle.read().decode("utf-8"))
    if not isinstance(asked, dict) or asked.get("schema", SCHEMA) != SCHEMA:
        raise ValueError("this is not a request of schema {0}".format(SCHEMA))
    return {
        "schema": SCHEMA,
        "sonames": [text(name) for name in asked.get("sonames", [])],
        "optional_sonames": [text(name) for name in asked.get("optional_sonames", [])],
        "train": bool(asked.get("train", True)),
        "gpu": bool(asked.get("gpu", False)),
        "hardware": bool(asked.get("hardware", asked.get("gpu", False))),
        "compute": bool(asked.get("compute", True)),
        "framework": bool(asked.get("framework", True)),
        "budgets": dict((text(name), float(seconds)) for name, seconds in asked.get("budgets", {}).items()),
        "limit": float(asked.get("limit", TENSORFLOW_LIMIT)),
    }


def hardware_only(request):
    """Return the request for `--hardware`: its libraries, or else all known ones that exist."""
    sonames = request["sonames"] or known_sonames()
    return dict(request, hardware=True, gpu=False, train=False, framework=False, sonames=sonames)


def opened(fact):
    """Return the fact of a function that already returns facts, without a second wrapping."""
    return fact["value"] if fact["ok"] else fact


def without_framework(request, path):
    """Return facts by name that need no TensorFlow, in the order in which they are collected."""
    facts = {
        "interpreter": look(interpreter),
        "machine": look(machine),
        "libraries": look(libraries, request, path),
        "driver": look(driver, path),
        "loader": look(loader),
        "software": look(software),
    }
    if cudnn_soname(request):
        facts["cudnn-start"] = opened(look(cudnn, request, path))
    if request["hardware"]:
        facts["nvml"] = opened(look(nvml_fact, path))
        facts["host"] = look(host, path, facts["driver"], facts["nvml"])
        facts.update(surroundings(path))
        if request["compute"]:
            facts["compute"] = opened(look(compute, request, path))
    return facts


def surroundings(path):
    """Return what decides about jobs on a node of a cluster, by name."""
    facts = {"network": look(network), "clock": look(clock), "scheduler": look(scheduler)}
    together = look(node_facts, path)
    names = ("directories", "user-namespaces")
    return dict(facts, **(together["value"] if together["ok"] else dict((name, together) for name in names)))


def everything(request, path):
    """Return all facts by name."""
    facts = without_framework(request, path)
    facts["distributions"] = look(distributions)
    facts["tensorflow-own-check"] = opened(look(own_check_fact, path))
    together = look(tensorflow, request, path)
    names = ["tensorflow-" + name for name in asked_steps(request) + list(MEMORY_STEPS if request["gpu"] else ())]
    facts.update(together["value"] if together["ok"] else dict((name, together) for name in names))
    return facts


def private_stdout():
    """Return a descriptor of the real standard output; all later prints are redirected to standard error."""
    sys.stdout.flush()
    private = os.dup(1)
    os.dup2(2, 1)
    return private


def write(descriptor, document):
    """Write one JSON document and a line end, all of it."""
    data = (json.dumps(document, sort_keys=True, allow_nan=False) + "\n").encode("ascii")
    while data:
        data = data[os.write(descriptor, data) :]


def main():
    """Read the command line, collect the facts, and write them."""
    parser = argparse.ArgumentParser(description="Print what is in this Python environment as JSON.")
    parser.add_argument("--request", metavar="FILE", default="", help="what to look at, as JSON")
    parser.add_argument(
        "--hardware", action="store_true", help="look at driver, GPUs and CUDA libraries only, without TensorFlow"
    )
    parser.add_argument("--part", choices=sorted(PARTS), help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help=argparse.SUPPRESS)
    parser.add_argument("--rehearse", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    # The directory of this file is not part of the environment: nothing in /tmp may shadow a module.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != os.path.dirname(os.path.abspath(__file__))]
    request = read_request(options.request)
    output = private_stdout()
    use_writable_directory()
    if options.part:

        def report(name, function, *arguments):
            write(output, {"name": name})
            fact = look(function, *arguments)
            write(output, {"name": name, "fact": fact})
            return fact["ok"]

        PARTS[options.part](request, report, [name for name in options.only.split(",") if name])
        # Some releases of TensorFlow crash at the end of the interpreter; all facts are written by now.
        sys.stderr.flush()
        os._exit(0)
    started = CLOCK()
    if options.hardware or not request["framework"]:
        request = hardware_only(request)
    elif request["hardware"] and not request["gpu"]:
        request = dict(request, sonames=request["sonames"] or known_sonames())
    if options.rehearse:
        facts = rehearse(options.request)
    else:
        facts = (everything if request["framework"] else without_framework)(request, options.request)
    write(output, {"schema": SCHEMA, "request": request, "seconds": round(CLOCK() - started, 3), "facts": facts})
