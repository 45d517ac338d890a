"""Check generated manifests with a real Kubernetes control plane, without a kubelet: validation, admission, scheduling.

Programs and release as in `tools/kubernetes_control_plane.py`. A definition is a file with a CustomResourceDefinition,
such as that of JobSet; without one, a JobSet is sent as the job in it.

    python -m tools.kubernetes_cluster BINARIES DIRECTORY [--definition FILE] ENVIRONMENT …

Every document is sent to the API server with `dryRun=All`. From Kubernetes 1.30 on, the admission policy is put in
force, and the pods and jobs of `tools/admission_cases.py` are sent. Then nodes are made up, with compute capabilities
and drivers at and beside the numbers that decide, and the job of `validate.yaml` runs on as many of them as the
scheduler admits: these must be the nodes that the judge of compatibility accepts.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from envbuilder.catalog.compatibility import judge_stack
from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.catalog.machine import Host, HostGpu
from envbuilder.catalog.node_requirements import RUNS
from envbuilder.catalog.verdicts import Fit, Stack
from envbuilder.cluster.image_stack import image_stack
from envbuilder.cluster.jobs import ClusterJob
from envbuilder.cluster.kubernetes.admission_policy import admission_policy
from envbuilder.cluster.kubernetes.manifests import ClusterSettings, manifests
from envbuilder.cluster.kubernetes.node_affinity import DriverLabels
from envbuilder.core.versions import Release
from envbuilder.wiring.cluster_jobs import JobChoices, cluster_job
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings
from tests.golden.clusters import REGISTRY
from tools.admission_cases import cases
from tools.kubernetes_control_plane import ApiServer, control_plane

_IMAGE = "registry.example/team/tf@sha256:" + "a" * 64
_PODS, _NODES, _JOBS = "api/v1/namespaces/default/pods", "api/v1/nodes", "apis/batch/v1/namespaces/default/jobs"
_SETTINGS = ClusterSettings(queue="team", pull_secret="login")  # noqa: S106  the name of a secret
_WITH_POLICIES = (1, 30)
_SCHEDULE_SECONDS, _IN_FORCE_SECONDS = 400.0, 60.0
_CAPABILITIES = ("3.5", "5.2", "6.1", "7.0", "7.2", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "12.0")


def validate(api: ApiServer, text: str) -> Iterator[str]:
    """Yield what the API server says of each document of a manifest: `accepted`, or the fault."""
    for found in yaml.safe_load_all(text):
        kind = found["kind"]
        document = found if api.path(found) else _as_known(found)
        try:
            problem = api.create(document, dry=True)
        except LookupError:
            yield f"{kind}: unknown to this release"
        else:
            sent = kind if document is found else f"{kind}, as the job in it"
            yield f"{sent}: {f'REFUSED {problem}' if problem else 'accepted'}"


def _as_known(document: dict[str, Any]) -> dict[str, Any]:
    """Return a JobSet as the job in it, for a server without its definition."""
    if document["kind"] != "JobSet":
        return document
    job = document["spec"]["replicatedJobs"][0]["template"]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": document["metadata"], "spec": job["spec"]}


def admit(api: ApiServer, job: ClusterJob) -> Iterator[str]:
    """Put the admission policy of a job in force, and yield what the API server says of each case."""
    text = admission_policy(job, REGISTRY, DriverLabels.DRIVER, _templates()).text
    documents = list(yaml.safe_load_all(text))
    files = {file.path: file.text for file in manifests(job, ClusterSettings(), _templates())}
    found = list(cases(yaml.safe_load(files["job.yaml"])))
    for document in documents:
        if problem := api.create(document):
            yield f"{document['kind']}: WRONG {problem}"
            return
    _wait_for_policy(api, next(each for _, admitted, each in found if not admitted))
    policy = api.send("GET", f"{api.path(documents[0])}/{documents[0]['metadata']['name']}")
    for warning in policy.get("status", {}).get("typeChecking", {}).get("expressionWarnings", []):
        yield f"policy: WRONG {warning['fieldRef']}: {warning['warning']}"
    for name, admitted, each in found:
        problem = api.create(_created(each), dry=True)
        right = not problem if admitted else "ValidatingAdmissionPolicy" in problem
        yield f"{name}: {'' if right else 'WRONG '}{problem or 'admitted'}"
    for document in documents:
        api.send("DELETE", f"{api.path(document)}/{document['metadata']['name']}")


def _wait_for_policy(api: ApiServer, refused: dict[str, Any]) -> None:
    """Wait until a policy is in force: the server learns of it some time after it was created."""
    deadline = time.monotonic() + _IN_FORCE_SECONDS
    while not api.create(_created(refused), dry=True):
        if time.monotonic() > deadline:
            return
        time.sleep(1)


def _created(found: dict[str, Any]) -> dict[str, Any]:
    """Return an object of a case with what the API server requires of every object."""
    document = copy.deepcopy(found)
    document.setdefault("metadata", {"name": "case"})
    for kind in ("containers", "initContainers"):
        for number, container in enumerate(document["spec"].get(kind, ())):
            container.setdefault("name", f"{kind.lower()}-{number}")
    return document


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledNode:
    """A made-up node."""

    name: str
    capability: str
    driver: str
    avx: bool

    @property
    def labels(self) -> dict[str, str]:
        """Labels of GPU feature discovery and node feature discovery."""
        major, minor = self.capability.split(".")
        found = {
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": self.name,
            "nvidia.com/gpu.present": "true",
            "nvidia.com/gpu.compute.major": major,
            "nvidia.com/gpu.compute.minor": minor,
        }
        found |= dict(zip(DriverLabels.DRIVER.keys, [*self.driver.split("."), "", ""][:3], strict=True))
        return found | ({"feature.node.kubernetes.io/cpu-cpuid.AVX": "true"} if self.avx else {})

    def is_accepted(self, catalog: Catalog, stack: Stack) -> bool:
        """Return True if the judge says that it runs the image."""
        gpu = HostGpu(name="", capability=Release(self.capability))
        host = Host(name="", driver=Release(self.driver), gpus=(gpu,), machine="x86_64", avx=self.avx)
        fit = judge_stack(catalog.cuda, stack, host).fit
        return fit in RUNS or (stack.need is None and fit is Fit.CPU_ONLY)


def made_nodes(job: ClusterJob) -> tuple[LabelledNode, ...]:
    """Return nodes with every capability, and drivers at, below and above each number that decides."""
    deciding = {
        each for gpu in job.requirements.gpus for drivers in gpu.drivers for each in (drivers.least, drivers.before)
    }
    drivers = {"470.57.02", "999.1.1"}
    for each in deciding - {None}:
        major, minor, revision = each.head(3)  # type: ignore[union-attr]
        drivers |= {
            f"{major}.{minor:02d}.{revision:02d}",
            f"{major}.{minor:02d}.{max(0, revision - 1):02d}",
            f"{major}.{max(0, minor - 1):02d}.{revision + 5:02d}",
            f"{major}.{minor + 1:02d}.00",
            f"{major - 1}.300.99",
            f"{major + 1}.1.1",
        }
    pairs = [(capability, driver) for capability in _CAPABILITIES for driver in sorted(drivers)]
    return tuple(
        LabelledNode(name=f"n{number}", capability=capability, driver=driver, avx=number % 7 != 0)
        for number, (capability, driver) in enumerate(pairs)
    )


def schedule(api: ApiServer, nodes: Sequence[LabelledNode], job: ClusterJob) -> set[str]:
    """Return the names of the nodes that the scheduler admits pods of the job to."""
    room = {"cpu": "64", "memory": "512Gi", "pods": "20", "nvidia.com/gpu": "8"}
    for node in nodes:
        document = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name, "labels": node.labels}}
        api.send("POST", _NODES, document)
        status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
        kind = "application/merge-patch+json"
        api.send("PATCH", f"{_NODES}/{node.name}/status", {"status": status}, kind)
    wide = replace(job, workers=len(nodes))
    files = {file.path: file.text for file in manifests(wide, ClusterSettings(), _templates())}
    *_, document = yaml.safe_load_all(files["validate.yaml"])
    api.send("POST", _JOBS, document)
    admitted: set[str] = set()
    deadline, quiet = time.monotonic() + _SCHEDULE_SECONDS, 0
    while quiet < 5 and time.monotonic() < deadline:  # five looks in a row without a change
        time.sleep(3)
        pods = api.send("GET", _PODS)["items"]
        judged = [pod for pod in pods if pod["spec"].get("nodeName") or pod["status"].get("conditions")]
        found = {pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}
        quiet = quiet + 1 if found == admitted and len(judged) == len(nodes) else 0
        admitted = found
    if quiet < 5:
        raise SystemExit(f"the scheduler has not looked at all {len(nodes)} pods after {_SCHEDULE_SECONDS:.0f} s")
    api.send("DELETE", f"{_JOBS}/{job.name}-validate?propagationPolicy=Background")
    for pod in api.send("GET", _PODS)["items"]:
        api.send("DELETE", f"{_PODS}/{pod['metadata']['name']}?gracePeriodSeconds=0")
    for node in nodes:
        api.send("DELETE", f"{_NODES}/{node.name}")
    return admitted


def _templates() -> Path:
    return Path(__file__).parents[1] / "templates"


def main(arguments: Sequence[str]) -> int:
    """Print what the control plane says; return 1 if that is wrong."""
    parser = argparse.ArgumentParser(prog="tools.kubernetes_cluster", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("binaries", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--definition", type=Path, action="append", default=[])
    parser.add_argument("environments", nargs="+")
    given = parser.parse_args(arguments)
    here = settings()
    session = Session(here, load_catalog(here.matrices), lambda _: None)
    wrong = 0
    with control_plane(given.binaries.resolve(), given.directory.resolve()) as api:
        print(f"Kubernetes {'.'.join(map(str, api.release))}")
        _prepare(api, given.definition)
        for name in given.environments:
            for line in _checked(api, session, name):
                wrong += any(each in line for each in ("REFUSED", "WRONG"))
                print(line, flush=True)
    return int(wrong > 0)


def _prepare(api: ApiServer, definitions: Sequence[Path]) -> None:
    """Create what a cluster with GPUs has: a runtime class, and definitions of resources."""
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}}
    problems = [api.create(runtime | {"handler": "nvidia"})]
    for definition in definitions:
        for document in yaml.safe_load_all(definition.read_text(encoding="utf-8")):
            problems.append(api.create(document))
            known = {"apiVersion": f"{document['spec']['group']}/{document['spec']['versions'][0]['name']}"}
            while api.path(known | {"kind": document["spec"]["names"]["kind"]}) is None:
                time.sleep(0.5)
    if any(problems):
        raise SystemExit("; ".join(filter(None, problems)))


def _checked(api: ApiServer, session: Session, name: str) -> Iterator[str]:
    job = cluster_job(session, name, _IMAGE, JobChoices())
    for workers in (1, 2):
        job = replace(job, workers=workers)
        for file in manifests(job, _SETTINGS, _templates()):
            for answer in validate(api, file.text):
                yield f"{name} ({workers}): {file.path}: {answer}"
    if api.release >= _WITH_POLICIES:
        for line in admit(api, replace(job, workers=1, image=REGISTRY)):
            yield f"{name}: policy: {line}"
    nodes = made_nodes(job)
    started = time.monotonic()
    admitted = schedule(api, nodes, job)
    stack = _stack(session.catalog, job)
    accepted = {node.name for node in nodes if node.is_accepted(session.catalog, stack)}
    yield (
        f"{name}: {'' if admitted == accepted else 'WRONG '}{len(nodes)} nodes, {len(accepted)} accepted by the judge,"
        f" {len(admitted)} admitted by the scheduler, {len(admitted ^ accepted)} different"
        f" ({time.monotonic() - started:.0f} s)"
    )


def _stack(catalog: Catalog, job: ClusterJob) -> Stack:
    row = next(row for row in catalog.environments if row.id == job.lock.environment)
    return image_stack(row, job.lock)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
