"""Manifests: what a program reads in them."""

from __future__ import annotations

import json
from typing import Any

import yaml

from envbuilder.cluster.kubernetes.manifests import quoted
from envbuilder.cluster.kubernetes.node_affinity import selector_terms
from tests.golden.clusters import REGISTRY, folders, job

GPU = job("tf-2.15-cuda12.2", REGISTRY, 4, 2)


def documents(folder: str, name: str) -> list[dict[str, Any]]:
    text = next(file.text for file in folders()[folder] if file.path == name)
    return list(yaml.safe_load_all(text))


def pod_of(document: dict[str, Any]) -> dict[str, Any]:
    spec = document["spec"]
    if document["kind"] == "JobSet":
        spec = spec["replicatedJobs"][0]["template"]["spec"]
    pod: dict[str, Any] = spec["template"]["spec"]
    return pod


def test_every_pod_of_a_job_has_the_affinity_of_the_judge() -> None:
    expected = [
        [condition.document for condition in term] for term in selector_terms(GPU.requirements, whole_gpus=True)
    ]
    for name in ("workers.yaml", "jobset.yaml", "validate.yaml"):
        pod = pod_of(documents("clusters/kubernetes", name)[-1])
        required = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert [term["matchExpressions"] for term in required["nodeSelectorTerms"]] == expected


def test_the_node_is_checked_before_training_with_the_same_image_and_gpus() -> None:
    for folder, name in (("clusters/kubernetes", "workers.yaml"), ("clusters/kubernetes-cpu", "job.yaml")):
        pod = pod_of(documents(folder, name)[-1])
        check, train = pod["initContainers"][0], pod["containers"][0]
        assert check["image"] == train["image"] == str(REGISTRY.reference)
        assert check["resources"]["limits"].get("nvidia.com/gpu") == train["resources"]["limits"].get("nvidia.com/gpu")
        # A pod gets the larger of both, so the check asks for nothing that the training does not have.
        assert int(check["resources"]["requests"]["cpu"]) <= int(train["resources"]["requests"]["cpu"])
        assert check["command"][1] == "/opt/node-check/node-check.py"


def test_workers_name_each_other_as_the_service_and_the_pods_are_named() -> None:
    service, workers = documents("clusters/kubernetes", "workers.yaml")
    pod = pod_of(workers)
    variables = {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}
    config = json.loads(variables["TF_CONFIG"].replace("$(WORKER_INDEX)", "1"))

    assert service["metadata"]["name"] == pod["subdomain"]
    assert service["spec"]["selector"].items() <= workers["spec"]["template"]["metadata"]["labels"].items()
    assert config == {
        "cluster": {"worker": [f"{workers['metadata']['name']}-{n}.{pod['subdomain']}:2222" for n in (0, 1)]},
        "task": {"type": "worker", "index": 1},
    }


def test_kustomize_applies_the_job_and_the_check() -> None:
    (base,) = documents("clusters/kubernetes", "kustomization.yaml")

    assert set(base["resources"]) < {file.path for file in folders()["clusters/kubernetes"]}


def test_a_value_is_quoted_for_yaml() -> None:
    for text in ("no", "3.10", 'a "b" \\', "ü: #", "$(X)"):
        assert yaml.safe_load(quoted(text)) == text
