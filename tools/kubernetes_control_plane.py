"""Run a Kubernetes control plane on loopback, without a node; with it a command, if one is given.

Needs `etcd`, `openssl`, and `kube-apiserver`, `kube-scheduler` and `kube-controller-manager` of Kubernetes 1.20 or
later in a directory; `tools/kubernetes_binaries.sh` builds those of 1.20.

    python -m tools.kubernetes_control_plane BINARIES DIRECTORY -- COMMAND …

The command gets KUBECONFIG.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PORT = 26443
_TOKEN = "loopback"  # noqa: S105  of a server that lives for minutes, on loopback
_START_SECONDS = 240.0
_WITHOUT_INSECURE_PORT = (1, 24)
"""Release whose scheduler and controllers lost the option `--port`, as their CHANGELOG-1.24 says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServer:
    """A running API server.

    Attributes:
        address: Its address.
        release: Major and minor number of its release.
        kubeconfig: File for its clients.
    """

    address: str
    release: tuple[int, int]
    kubeconfig: Path

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

    def path(self, document: Mapping[str, Any]) -> str | None:
        """Return the path where a document is created; None if the server has no such kind."""
        version = str(document["apiVersion"])
        root = f"apis/{version}" if "/" in version else f"api/{version}"
        try:
            found = self.send("GET", root)["resources"]
        except urllib.error.HTTPError:
            return None
        kinds = {each["kind"]: each for each in found if "/" not in each["name"]}
        resource = kinds.get(document["kind"])
        if resource is None:
            return None
        namespace = "namespaces/default/" if resource["namespaced"] else ""
        return f"{root}/{namespace}{resource['name']}"

    def create(self, document: Mapping[str, Any], *, dry: bool = False) -> str:
        """Create an object, or only ask whether it would be accepted.

        Returns:
            Why the server refuses it; empty if it is accepted.

        Raises:
            LookupError: The server has no such kind.
        """
        path = self.path(document)
        if path is None:
            raise LookupError(f"{document['apiVersion']} {document['kind']}")
        try:
            # Strict: a field that the server does not know is a fault (Kubernetes 1.25).
            self.send("POST", f"{path}?fieldValidation=Strict{'&dryRun=All' if dry else ''}", document)
        except urllib.error.HTTPError as error:
            return str(json.load(error)["message"])
        return ""


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
    api = ApiServer(address=f"https://127.0.0.1:{_PORT}", release=_release(binaries), kubeconfig=folder / "kubeconfig")
    (folder / "kubeconfig").write_text(json.dumps(_kubeconfig(api.address)), encoding="utf-8")
    etcd, peers = f"http://127.0.0.1:{_PORT + 1}", f"http://127.0.0.1:{_PORT + 2}"
    with ExitStack() as stack:

        def start(*command: str) -> None:
            stack.enter_context(_process(command, folder / f"{Path(command[0]).name}.log"))

        start("etcd", *_etcd_options(folder, etcd, peers))
        start(f"{binaries}/kube-apiserver", f"--etcd-servers={etcd}", *_server_options(folder))
        _wait_for(api)
        common = [f"--kubeconfig={folder}/kubeconfig", "--bind-address=127.0.0.1", "--leader-elect=false"]
        common += ["--port=0"] if api.release < _WITHOUT_INSECURE_PORT else []
        certificates = f"--cert-dir={folder}/pki"
        start(f"{binaries}/kube-scheduler", *common, certificates, f"--secure-port={_PORT + 3}")
        controllers = ("--controllers=job,daemonset", f"--service-account-private-key-file={folder}/pki/sa.key")
        start(f"{binaries}/kube-controller-manager", *common, certificates, *controllers, f"--secure-port={_PORT + 4}")
        yield api


def _release(binaries: Path) -> tuple[int, int]:
    """Return the release of the programs."""
    shown = subprocess.run((binaries / "kube-apiserver", "--version"), capture_output=True, check=True, text=True)
    major, minor = re.findall(r"v(\d+)\.(\d+)", shown.stdout)[0]
    return int(major), int(minor)


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
        # A kubelet that a command starts is reached by its address: names of nodes need not resolve.
        "--kubelet-preferred-address-types=InternalIP",
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


def main(arguments: Sequence[str]) -> int:
    """Run a command with a control plane; return its status."""
    binaries, folder, *rest = arguments
    with control_plane(Path(binaries).resolve(), Path(folder).resolve()) as api:
        command = rest[rest.index("--") + 1 :]
        return subprocess.run(command, env={**os.environ, "KUBECONFIG": str(api.kubeconfig)}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
