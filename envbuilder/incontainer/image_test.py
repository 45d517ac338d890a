"""Test of an image by its own probe, as `apptainer test IMAGE` runs it: the facts that need no GPU and no lock.

TensorFlow has to be the release of the image's label, imported out of the image, and to train and save on the CPU. Exit
status 1 if one of these does not hold. Standard library only; syntax of CPython 2.7 and 3.5 to 3.13.
"""

import json
import subprocess
import sys

PROBE = "/opt/envbuilder/probe.py"
LABELS = "/.singularity.d/labels.json"
VERSION = "org.opencontainers.image.version"
HOME = "/opt/venv/"


def imported(value, release):
    """Return the fault of an imported TensorFlow; empty for none."""
    if not value["path"].startswith(HOME):
        return "imported from {0}, which is not in the image".format(value["path"])
    if value["version"] != release:
        return "version {0}, the image is labelled {1}".format(value["version"], release)
    return ""


def trained(value, _release):
    """Return the fault of a training; empty for none."""
    return "" if value["fell"] is True else "the loss went from {0} to {1}".format(value["first"], value["last"])


def saved(value, _release):
    """Return the fault of saved models; empty for none."""
    wrong = [each["format"] for each in value if each["equal"] is not True]
    return "" if value and not wrong else "loaded again, not equal: {0}".format(", ".join(wrong) or "nothing was saved")


CHECKS = (("tensorflow-import", imported), ("tensorflow-training", trained), ("tensorflow-saving", saved))


def faults(facts, release):
    """Return the name of each check with its fault, empty for none; a missing fact is a fault.

    Args:
        facts: Facts of the probe by name.
        release: Release of TensorFlow that the image is labelled with.
    """
    found = []
    for name, check in CHECKS:
        fact = facts.get(name) or {"ok": False, "error": {"message": "not looked at"}}
        try:
            fault = check(fact["value"], release) if fact["ok"] else fact["error"]["message"]
        except (KeyError, TypeError) as error:
            fault = "not understood: {0!r}".format(error)
        found.append((name, fault))
    return found


def main():
    """Run the probe, print the result of each check, and return the exit status."""
    with open(LABELS, "rb") as handle:
        release = json.loads(handle.read().decode("utf-8")).get(VERSION, "")
    # Not isolated (-I): the memory policy and what leaks from the host have to act as they do for a program.
    process = subprocess.Popen([sys.executable, PROBE], stdout=subprocess.PIPE)
    output = process.communicate()[0]
    if process.returncode:
        sys.stderr.write("the probe ended with status {0}\n".format(process.returncode))
        return 1
    found = faults(json.loads(output.decode("utf-8"))["facts"], release)
    for name, fault in found:
        print("{0}  {1}{2}".format("FAILED" if fault else "passed", name, ": " + fault if fault else ""))
    print("not looked at: GPUs, and the files of the lock (envbuilder validate IMAGE)")
    return 1 if any(fault for _name, fault in found) else 0


if __name__ == "__main__":
    sys.exit(main())
