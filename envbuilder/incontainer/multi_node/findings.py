"""The findings of one worker about its job, with the ids of `envbuilder multi-node check`.

They end a job before its training. Causes that only the facts of several workers show are left to that command.
"""

PASSED, FAILED, NOT_PROVEN = "passed", "failed", "not proven"
NOT_TRIED = "NotReached"
TOLERANCE = 1e-5  # SINGLE in diagnostics/checks/tolerances.py
REACHING = {"name": "names-resolve", "connect": "workers-connect", "hello": "addresses-belong"}
STEPS = (
    ("strategy", "cluster-forms"),
    ("all-reduce", "all-reduce-exact"),
    ("one-worker", "training-equals-one-worker"),
    ("training", "training-equals-one-worker"),
)


def findings(document):
    """Return the outcomes as (outcome, id of the check, text); one that passed if there is no other."""
    for found in (of_port, of_workers, of_steps, of_results):
        outcomes = list(found(document))
        if outcomes:
            return outcomes
    text = "{0} workers all-reduce and train together".format(len(document["workers"]))
    return [(PASSED, "training-equals-one-worker", text)]


def of_port(document):
    """Yield the outcome of a port that was not free: nothing else was tried."""
    port = document["facts"]["port"]
    if not port["ok"]:
        yield FAILED, "ports-free", error_line(port)


def of_workers(document):
    """Yield the outcomes about the other workers."""
    for peer in document["peers"]:
        name = "worker {0} at {1}".format(peer["index"], peer["address"])
        hello = peer["hello"] or {}
        if peer["connected"] is None:
            yield FAILED, REACHING[peer["error"]["step"]], "{0}: {1[type]}: {1[message]}".format(name, peer["error"])
        elif hello.get("workers") != document["workers"]:
            yield FAILED, "same-cluster", "{0} has the workers {1}".format(name, ", ".join(hello.get("workers") or []))
        elif hello.get("tensorflow") != document["identity"]["tensorflow"]:
            versions = (hello.get("tensorflow") or "unknown", document["identity"]["tensorflow"] or "unknown")
            yield FAILED, "versions-equal", "{0} has TensorFlow {1[0]}, this worker {1[1]}".format(name, versions)
        elif peer["heard"] is None:
            yield FAILED, "workers-connect", "{0} answers, and did not reach this worker".format(name)
        elif peer["left"] is not None and peer["bye"] is None:
            yield FAILED, "workers-reported", "{0} ended {1} s after the start".format(name, peer["left"])


def of_steps(document):
    """Yield the outcome of the first step without a result in TensorFlow."""
    for name, check in STEPS:
        fact = document["facts"][name]
        if not fact["ok"] and fact["error"]["type"] != NOT_TRIED:
            missing = fact["error"]["type"] == "AttributeError" and "MultiWorkerMirroredStrategy" in fact["error"]["message"]
            text = "this release has no MultiWorkerMirroredStrategy" if missing else error_line(fact)
            yield (NOT_PROVEN if missing else FAILED), check, text
            return


def of_results(document):
    """Yield the outcomes of results that are missing or wrong."""
    facts = document["facts"]
    missing = [check for name, check in STEPS if not facts[name]["ok"]]
    if missing:
        yield FAILED, missing[0], "TensorFlow was not started"
        return
    summed = facts["all-reduce"]["value"]
    for index, replicas in enumerate(summed["replicas"]):
        if replicas < 1:
            yield FAILED, "all-reduce-exact", "worker {0} had no part in the sum".format(index)
    for each in summed["sizes"]:
        if each["wrong"]:
            text = "{0} elements of {1} bytes have a wrong sum".format(each["wrong"], each["bytes"])
            yield FAILED, "all-reduce-exact", text
    share = difference(facts["training"]["value"]["values"], facts["one-worker"]["value"]["values"])
    if not share <= TOLERANCE:
        text = "weights differ from those of one worker by {0:.1e} of the largest, more than {1:.0e}".format(share, TOLERANCE)
        yield FAILED, "training-equals-one-worker", text


def difference(found, wanted):
    """Return the largest difference as a share of the largest weight; infinite for other than finite numbers."""
    try:
        largest = max(abs(float(number)) for number in wanted)
        apart = max(abs(float(one) - float(other)) for one, other in zip(found, wanted))
    except (TypeError, ValueError):
        return float("inf")
    return apart / (largest or 1.0) if len(found) == len(wanted) else float("inf")


def error_line(fact):
    """Return the error of a fact in one line."""
    message = fact["error"]["message"].strip().splitlines() or [""]
    return "{0}: {1}".format(fact["error"]["type"], message[0][:300])


def lines(document):
    """Return the outcomes as lines for the log of a job."""
    name = "worker {0} ({1})".format(document["index"], document["workers"][document["index"]])
    return [u"envbuilder: {0}: {1}: {2}: {3}".format(name, *each) for each in findings(document)]
