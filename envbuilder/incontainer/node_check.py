"""Check whether this node runs an image; job scripts start it in the image, before training.

Reads the requirements that envbuilder derived from the lock, and the facts of the probe. Standard library only;
Python 2.7 and 3.5 on. Exit status: 0 if the node runs the image, 1 if it does not, 3 if that is not proven.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROBE = "/opt/envbuilder/probe.py"
PASSED, FAILED, NOT_PROVEN = "passed", "failed", "not proven"
STATUS = {PASSED: 0, FAILED: 1, NOT_PROVEN: 3}
FITS_REMEDY = "or choose an environment for this node: `envbuilder advise --host FACTS`"


def release(text):
    """Return a dotted release as numbers, without zeros at its end."""
    parts = [int(part) for part in text.split(".")]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return parts


def includes(bounds, driver):
    """Return True if a driver is in a range of drivers."""
    number = release(driver)
    if number < release(bounds["least"]):
        return False
    return bounds["before"] is None or number < release(bounds["before"])


def in_words(bounds):
    """Return a range of drivers in words."""
    words = "{0} or later".format(bounds["least"])
    return words if bounds["before"] is None else "{0}, before {1}".format(words, bounds["before"])


def value_of(facts, name):
    """Return the value of a fact; None if the probe did not see it."""
    fact = facts.get(name) or {}
    return fact.get("value") if fact.get("ok") else None


def error_of(facts, name):
    """Return why the probe did not see a fact."""
    error = (facts.get(name) or {}).get("error") or {}
    return "{0}: {1}".format(error.get("type", "not seen"), error.get("message", "the probe did not look"))


def driver_release(facts):
    """Return the release of the kernel module if it is known, else that of NVML, else that of the library."""
    driver = value_of(facts, "driver") or {}
    module = (driver.get("module") or {}).get("release")
    return module or (value_of(facts, "nvml") or {}).get("driver") or driver.get("library")


def processor(needs, facts):
    """Yield the outcomes about the processor."""
    machine = (value_of(facts, "interpreter") or {}).get("machine")
    if machine is None:
        yield "cpu-architecture", NOT_PROVEN, "the processor is not known: " + error_of(facts, "interpreter"), ""
    elif machine != needs["processor"]:
        text = "the image is for {0}, and this node is {1}".format(needs["processor"], machine)
        yield "cpu-architecture", FAILED, text, "use a node with an {0} processor".format(needs["processor"])
    cpu = (value_of(facts, "machine") or {}).get("cpu") or {}
    if needs["avx"] and cpu.get("avx") is not True:
        missing = cpu.get("avx") is False
        text = "TensorFlow uses AVX, which this processor lacks" if missing else "whether the processor has AVX is not known"
        yield "cpu-avx", FAILED if missing else NOT_PROVEN, text, "use a node whose processor has AVX"


def visible_gpus(facts):
    """Return the GPUs that this process can use, and the reason if there are none."""
    driver = value_of(facts, "driver")
    if driver is None:
        return [], error_of(facts, "driver")
    interface = value_of(driver, "interface")
    if interface is None:
        return [], "querying the driver failed: " + error_of(driver, "interface")
    if not interface.get("loadable"):
        return [], "there is no driver: {0}".format(interface.get("error"))
    if interface.get("stub") or interface.get("stand_in"):
        return [], "{0} is not a driver".format(interface.get("path"))
    start = interface.get("init") or {}
    if start.get("code") != 0:
        return [], "the driver does not start: cuInit gives {0} {1}".format(start.get("code"), start.get("name"))
    return interface.get("gpus") or [], "the driver sees no GPU"


def driver_alone(needs, facts, reason):
    """Yield the outcomes of a node without a usable GPU: its driver may be too old for every GPU."""
    driver = driver_release(facts)
    least = sorted((each["least"] for gpu in needs["gpus"] for each in gpu["drivers"]), key=release)
    if driver and least and release(driver) < release(least[0]):
        text = "driver {0} is too old: on every GPU this image needs {1} or later".format(driver, least[0])
        yield "driver-floor", FAILED, text, "update the driver of this node, " + FITS_REMEDY
    yield (
        "driver-present",
        FAILED,
        reason,
        "allocate a GPU (--gres=gpu:1, nvidia.com/gpu), and pass it to the image (--nv, CDI, NVIDIA Container Toolkit)",
    )


def of_gpu(needs, gpu, driver):
    """Return the outcome for one GPU."""
    name = "{0} ({1})".format(gpu.get("name") or gpu.get("error"), gpu.get("capability"))
    entries = [
        each
        for each in needs["gpus"]
        if each["capability"] == gpu.get("capability") and each["product"] in ("", gpu.get("name"))
    ]
    if not entries:
        known = [each["why"] for each in needs["excluded"] if each["capability"] == gpu.get("capability")]
        if known and "not proven" not in known[0]:
            return "gpu-architecture-covered", FAILED, "{0}: {1}".format(name, known[0]), "use a node with another GPU"
        text = "{0}: {1}".format(name, known[0] if known else "the catalog has no data for this GPU")
        return "gpu-architecture-covered", NOT_PROVEN, text, "use a node with another GPU, " + FITS_REMEDY
    if driver is None:
        return "driver-floor", NOT_PROVEN, "the release of the driver is not known", "mount /proc/driver/nvidia/version"
    ranges = [bounds for each in entries for bounds in each["drivers"]]
    if any(includes(bounds, driver) for bounds in ranges):
        return "driver-floor", PASSED, "{0} with driver {1}".format(name, driver), ""
    needed = ", or ".join(in_words(bounds) for bounds in ranges)
    text = "driver {0} does not run this image on {1}: it needs {2}".format(driver, name, needed)
    return "driver-floor", FAILED, text, "use a node with driver {0}, {1}".format(needed, FITS_REMEDY)


def gpus(needs, facts, count):
    """Yield the outcomes about driver and GPUs."""
    if not needs["uses_gpu"]:
        return
    found, reason = visible_gpus(facts)
    if not found:
        for outcome in driver_alone(needs, facts, reason):
            yield outcome
        return
    for gpu in found:
        yield of_gpu(needs, gpu, driver_release(facts))
    if len(found) < count:
        text = "{0} of {1} GPUs are visible".format(len(found), count)
        yield "gpu-count", FAILED, text, "compare the allocation with CUDA_VISIBLE_DEVICES and NVIDIA_VISIBLE_DEVICES"


def framework(needs, facts, count):
    """Yield the outcomes about TensorFlow, which may silently compute on the processor."""
    if "tensorflow-import" not in facts:
        yield "tensorflow-imports", NOT_PROVEN, "the facts do not say whether TensorFlow imports", "run the check in the image"
        return
    if value_of(facts, "tensorflow-import") is None:
        text = "TensorFlow does not import: " + error_of(facts, "tensorflow-import")
        yield "tensorflow-imports", FAILED, text, "`envbuilder diagnose` explains the log"
        return
    devices = value_of(facts, "tensorflow-devices")
    if devices is None:
        yield "gpu-visible-to-tensorflow", NOT_PROVEN, error_of(facts, "tensorflow-devices"), "see the log of the job"
        return
    seen = len([each for each in devices if each.get("type") == "GPU"])
    if needs["uses_gpu"] and seen < max(1, count):
        text = "TensorFlow sees {0} of {1} GPUs: it would train on the processor".format(seen, max(1, count))
        yield "gpu-visible-to-tensorflow", FAILED, text, "`envbuilder validate --facts FACTS` names the missing library"
    else:
        text = "TensorFlow sees {0} GPUs".format(seen) if needs["uses_gpu"] else "TensorFlow imports"
        yield "tensorflow-imports", PASSED, text, ""


def outcomes(needs, document, count):
    """Return all outcomes for the facts of a probe, as (id, outcome, text, remedy)."""
    facts = document["facts"]
    found = list(processor(needs, facts)) + list(gpus(needs, facts, count))
    # A node that does not run the image fails in TensorFlow as well, for the same reason.
    if not any(outcome != PASSED for _, outcome, _, _ in found):
        found += list(framework(needs, facts, count))
    return found


def probe(python, program):
    """Run the probe of the image; return its document."""
    request = {"schema": 1, "framework": True, "hardware": True, "train": False, "gpu": False, "compute": False}
    handle, path = tempfile.mkstemp(prefix="envbuilder-request-")
    try:
        os.write(handle, json.dumps(request).encode("ascii"))
        os.close(handle)
        child = subprocess.Popen([python, program, "--request", path], stdout=subprocess.PIPE)
        return json.loads(child.communicate()[0].decode("utf-8"))
    finally:
        os.remove(path)


def save(document, path):
    """Write facts so that a reader sees all of them or none."""
    partial = "{0}.{1}.part".format(path, os.getpid())
    with open(partial, "wb") as handle:
        handle.write(json.dumps(document, sort_keys=True).encode("ascii") + b"\n")
    os.rename(partial, path)


def read(path):
    """Return the content of a JSON file."""
    with open(path, "rb") as handle:
        return json.loads(handle.read().decode("utf-8"))


def show(name, found):
    """Print the outcomes; return the worst."""
    for check, outcome, text, remedy in found:
        print("envbuilder: {0}: {1}: {2}: {3}".format(name, outcome, check, text))
        if outcome != PASSED and remedy:
            print("envbuilder: {0}: next: {1}".format(name, remedy))
    worst = [outcome for outcome in (FAILED, NOT_PROVEN) if any(each[1] == outcome for each in found)]
    return (worst or [PASSED])[0]


def node_name():
    """Return the name of this node, as the scheduler calls it."""
    return os.environ.get("SLURMD_NODENAME") or os.environ.get("NODE_NAME") or os.uname()[1]


def main():
    """Read the command line, check this node, print the outcomes, and end with the status."""
    parser = argparse.ArgumentParser(description="Check whether this node runs the image.")
    parser.add_argument("--requirements", metavar="FILE", default=os.path.join(HERE, "requirements.json"))
    parser.add_argument("--gpus", type=int, default=0, help="GPUs of the allocation on this node")
    parser.add_argument("--name", default=node_name(), help="name of the node in the output")
    parser.add_argument("--facts", metavar="FILE", help="check these facts instead of running the probe")
    parser.add_argument("--save", metavar="DIRECTORY", help="write the facts to NAME.json in this directory")
    options = parser.parse_args()
    needs = read(options.requirements)
    document = read(options.facts) if options.facts else probe(sys.executable, PROBE)
    if options.save:
        save(document, os.path.join(options.save, options.name + ".json"))
    verdict = show(options.name, outcomes(needs, document, options.gpus))
    words = {PASSED: "runs here", FAILED: "does not run here", NOT_PROVEN: "is not proven to run here"}
    print("envbuilder: {0}: {1} {2}".format(options.name, needs["environment"], words[verdict]))
    sys.stdout.flush()
    sys.exit(STATUS[verdict])


if __name__ == "__main__":
    main()
