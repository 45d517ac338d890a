"""Check generated manifests with a real Kubernetes control plane, without a kubelet: validation, and scheduling.

Needs `etcd`, and `kube-apiserver`, `kube-scheduler` and `kube-controller-manager` of Kubernetes 1.20 in a directory;
`tools/kubernetes_binaries.sh` builds them. Everything is on loopback.

    python -m tools.kubernetes_cluster BINARIES DIRECTORY ENVIRONMENT …

Every document is sent to the API server with `dryRun=All`. Then nodes are made up, with compute capabilities and
drivers at and beside the numbers that decide, and the job of `validate.yaml` runs on as many of them as the scheduler
admits: these must be the nodes that the judge of compatibility accepts.
"""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
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
from envbuilder.cluster.kubernetes.manifests import ClusterSettings, manifests
from envbuilder.cluster.kubernetes.node_affinity import DriverLabels
from envbuilder.core.versions import Release
from envbuilder.wiring.cluster_jobs import JobChoices, cluster_job
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings

_IMAGE = "registry.example/team/tf@sha256:" + "a" * 64
_PORT = 26443
_TOKEN = "loopback"  # noqa: S105  of a server that lives for minutes, on loopback
_PATHS = {
    "ConfigMap": "api/v1/namespaces/default/configmaps",
    "Service": "api/v1/namespaces/default/services",
    "Pod": "api/v1/namespaces/default/pods",
    "Node": "api/v1/nodes",
    "Job": "apis/batch/v1/namespaces/default/jobs",
    "DaemonSet": "apis/apps/v1/namespaces/default/daemonsets",
    "RuntimeClass": "apis/node.k8s.io/v1/runtimeclasses",
}
_SETTINGS = ClusterSettings(queue="team", pull_secret="login")  # noqa: S106  the name of a secret
_START_SECONDS, _SCHEDULE_SECONDS = 120.0, 240.0
_CAPABILITIES = ("3.5", "5.2", "6.1", "7.0", "7.2", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "12.0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServer:
    """A running API server."""

    address: str

    def send(self, method: str, path: str, body: object = None, kind: str = "application/json") -> Any:  # noqa: ANN401
        """Return the answer to a request."""
        request = urllib.request.Request(  # noqa: S310  loopback
            f"{self.address}/{path}",
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Authorization": f"Bearer {_TOKEN}", "Content-Type": kind},
        )
        context = ssl._create_unverified_context()  # noqa: S323, SLF001  a certificate that the server made for itself
        with urllib.request.urlopen(request, context=context, timeout=60) as answer:  # noqa: S310
            return json.load(answer)


@contextmanager
def control_plane(binaries: Path, folder: Path) -> Iterator[ApiServer]:
    """Run a control plane in an empty directory."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "pki").mkdir(parents=True)
    for command in (
        ("openssl", "genrsa", "-out", f"{folder}/pki/sa.key", "2048"),
        ("openssl", "rsa", "-in", f"{folder}/pki/sa.key", "-pubout", "-out", f"{folder}/pki/sa.pub"),
    ):
        subprocess.run(command, check=True, capture_output=True)
    (folder / "pki/tokens.csv").write_text(f"{_TOKEN},admin,1,system:masters\n", encoding="utf-8")
    api = ApiServer(address=f"https://127.0.0.1:{_PORT}")
    (folder / "kubeconfig").write_text(json.dumps(_kubeconfig(api.address)), encoding="utf-8")
    etcd, peers = f"http://127.0.0.1:{_PORT + 1}", f"http://127.0.0.1:{_PORT + 2}"
    with ExitStack() as stack:

        def start(*command: str) -> None:
            stack.enter_context(_process(command, folder / f"{Path(command[0]).name}.log"))

        start("etcd", *_etcd_options(folder, etcd, peers))
        start(f"{binaries}/kube-apiserver", f"--etcd-servers={etcd}", *_server_options(folder))
        _wait_for(api)
        common = (f"--kubeconfig={folder}/kubeconfig", "--bind-address=127.0.0.1", "--port=0", "--leader-elect=false")
        certificates = f"--cert-dir={folder}/pki"
        start(f"{binaries}/kube-scheduler", *common, certificates, f"--secure-port={_PORT + 3}")
        controllers = ("--controllers=job,daemonset", f"--service-account-private-key-file={folder}/pki/sa.key")
        start(f"{binaries}/kube-controller-manager", *common, certificates, *controllers, f"--secure-port={_PORT + 4}")
        yield api


def _etcd_options(folder: Path, etcd: str, peers: str) -> tuple[str, ...]:
    return (
        f"--data-dir={folder}/etcd",
        f"--listen-client-urls={etcd}",
        f"--advertise-client-urls={etcd}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        "--unsafe-no-fsync",
    )


def _server_options(folder: Path) -> tuple[str, ...]:
    return (
        "--bind-address=127.0.0.1",
        f"--secure-port={_PORT}",
        f"--cert-dir={folder}/pki",
        f"--token-auth-file={folder}/pki/tokens.csv",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file={folder}/pki/sa.key",
        f"--service-account-key-file={folder}/pki/sa.pub",
        "--authorization-mode=RBAC",
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.99.0.0/24",
        # No kubelet and no controller of nodes runs, which would take the taint of a new node away.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        "--enable-admission-plugins=ExtendedResourceToleration,RuntimeClass",
    )


def _kubeconfig(address: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": address, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "u", "user": {"token": _TOKEN}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


@contextmanager
def _process(command: Sequence[str], log: Path) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env={"PATH": os.environ["PATH"]})
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def _wait_for(api: ApiServer) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            api.send("GET", "apis/batch/v1")
            api.send("GET", "api/v1/namespaces/default")
        except (OSError, ValueError) as error:
            if time.monotonic() > deadline:
                raise SystemExit(f"the API server does not answer: {error}") from error
            time.sleep(1)
        else:
            return


def validate(api: ApiServer, text: str) -> Iterator[str]:
    """Yield what the API server says of each document of a manifest: `accepted`, or the fault."""
    for found in yaml.safe_load_all(text):
        document = _as_known(found)
        path = _PATHS.get(document["kind"])
        if path is None:
            yield f"{document['kind']}: unknown to this release"
            continue
        try:
            api.send("POST", f"{path}?dryRun=All", document)
        except urllib.error.HTTPError as error:
            yield f"{document['kind']}: REFUSED {json.load(error)['message']}"
        else:
            yield f"{found['kind']}: accepted"


def _as_known(document: dict[str, Any]) -> dict[str, Any]:
    """Return a JobSet as the job in it: this server has no definition of JobSet."""
    if document["kind"] != "JobSet":
        return document
    job = document["spec"]["replicatedJobs"][0]["template"]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": document["metadata"], "spec": job["spec"]}


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
        api.send("POST", _PATHS["Node"], document)
        status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
        kind = "application/merge-patch+json"
        api.send("PATCH", f"{_PATHS['Node']}/{node.name}/status", {"status": status}, kind)
    wide = replace(job, workers=len(nodes))
    files = {file.path: file.text for file in manifests(wide, ClusterSettings(), _templates())}
    api.send("POST", _PATHS["Job"], yaml.safe_load(files["validate.yaml"]))
    admitted: set[str] = set()
    deadline, quiet = time.monotonic() + _SCHEDULE_SECONDS, 0
    while quiet < 5 and time.monotonic() < deadline:  # five looks in a row without a change
        time.sleep(3)
        pods = api.send("GET", _PATHS["Pod"])["items"]
        judged = [pod for pod in pods if pod["spec"].get("nodeName") or pod["status"].get("conditions")]
        found = {pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}
        quiet = quiet + 1 if found == admitted and len(judged) == len(nodes) else 0
        admitted = found
    if quiet < 5:
        raise SystemExit(f"the scheduler has not looked at all {len(nodes)} pods after {_SCHEDULE_SECONDS:.0f} s")
    api.send("DELETE", f"{_PATHS['Job']}/{job.name}-validate?propagationPolicy=Background")
    for pod in api.send("GET", _PATHS["Pod"])["items"]:
        api.send("DELETE", f"{_PATHS['Pod']}/{pod['metadata']['name']}?gracePeriodSeconds=0")
    for node in nodes:
        api.send("DELETE", f"{_PATHS['Node']}/{node.name}")
    return admitted


def _templates() -> Path:
    return Path(__file__).parents[1] / "templates"


def main(arguments: Sequence[str]) -> int:
    """Print what the control plane says; return 1 if a document is refused or other nodes are admitted."""
    binaries, folder, *names = arguments
    here = settings()
    session = Session(here, load_catalog(here.matrices), lambda _: None)
    wrong = 0
    with control_plane(Path(binaries).resolve(), Path(folder).resolve()) as api:
        api.send("POST", _PATHS["RuntimeClass"], {"metadata": {"name": "nvidia"}, "handler": "nvidia"})
        for name in names:
            job = cluster_job(session, name, _IMAGE, JobChoices())
            for workers in (1, 2):
                job = replace(job, workers=workers)
                for file in manifests(job, _SETTINGS, _templates()):
                    for answer in validate(api, file.text):
                        wrong += "REFUSED" in answer
                        print(f"{name} ({workers}): {file.path}: {answer}")
            nodes = made_nodes(job)
            started = time.monotonic()
            admitted = schedule(api, nodes, job)
            stack = _stack(session.catalog, job)
            accepted = {node.name for node in nodes if node.is_accepted(session.catalog, stack)}
            wrong += admitted != accepted
            print(
                f"{name}: {len(nodes)} nodes, {len(accepted)} accepted by the judge, {len(admitted)} admitted by the"
                f" scheduler, {len(admitted ^ accepted)} different ({time.monotonic() - started:.0f} s)"
            )
    return int(wrong > 0)


def _stack(catalog: Catalog, job: ClusterJob) -> Stack:
    row = next(row for row in catalog.environments if row.id == job.lock.environment)
    return image_stack(row, job.lock)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
