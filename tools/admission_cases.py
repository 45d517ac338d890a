"""Evaluate the expressions of the admission policy for pods and jobs: `python -m tools.admission_cases`.

Needs cel-python (`pip install cel-python`), which is not among the dependencies. Without an API server this shows what
the expressions say, not that the server accepts the policy.
"""

from __future__ import annotations

import copy
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from envbuilder.cluster.kubernetes.admission_policy import admission_policy
from envbuilder.cluster.kubernetes.manifests import ClusterSettings, manifests
from envbuilder.cluster.kubernetes.node_affinity import DriverLabels
from tests.fakes.catalogs import TEMPLATES
from tests.golden.clusters import REGISTRY, job

Pod = dict[str, Any]
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_IMAGE = str(REGISTRY.reference)
_REPOSITORY = REGISTRY.reference.repository


def _terms(pod: Pod) -> list[dict[str, Any]]:
    terms: list[dict[str, Any]] = pod["affinity"]["nodeAffinity"][_REQUIRED]["nodeSelectorTerms"]
    return terms


def _stricter(pod: Pod) -> None:
    for term in _terms(pod):
        term["matchExpressions"].append({"key": "zone", "operator": "Exists"})


def _replace(pod: Pod, **fields: object) -> None:
    pod.clear()
    pod.update(fields)


CHANGES: dict[str, tuple[bool, Callable[[Pod], object]]] = {
    "as generated": (True, lambda _: None),
    "stricter terms": (True, _stricter),
    "fewer terms": (True, lambda pod: _terms(pod).__delitem__(slice(1, None))),
    "another image": (True, lambda pod: _replace(pod, containers=[{"image": "registry.example/a:1"}])),
    "no affinity": (False, lambda pod: pod.pop("affinity")),
    "a term without its last condition": (False, lambda pod: _terms(pod)[-1]["matchExpressions"].pop()),
    "a term that holds on every node": (False, lambda pod: _terms(pod).append({"matchFields": []})),
    "a tag": (False, lambda pod: pod["containers"][0].update(image=f"{_REPOSITORY}:latest")),
    "no tag and no digest": (False, lambda pod: pod["containers"][0].update(image=_REPOSITORY)),
    "bound to a node": (False, lambda pod: pod.update(nodeName="n1")),
    "in an init container only": (
        False,
        lambda pod: _replace(pod, containers=[{"image": "a"}], initContainers=[{"image": _IMAGE}]),
    ),
}
"""Whether a changed pod must be admitted, and the change."""


def cases(generated: dict[str, Any]) -> Iterator[tuple[str, bool, dict[str, Any]]]:
    """Yield objects with a name, and whether the policy must admit them."""
    yield "a job", True, generated
    for name, (admitted, change) in CHANGES.items():
        pod = copy.deepcopy(generated["spec"]["template"]["spec"])
        change(pod)
        yield name, admitted, {"kind": "Pod", "apiVersion": "v1", "spec": pod}


def refusals(policy: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return the messages of a policy for an object; none if it is admitted."""
    celpy = importlib.import_module("celpy")
    environment = celpy.Environment()
    variables: dict[str, Any] = {}

    def evaluate(expression: str) -> Any:  # noqa: ANN401  a value of CEL
        context = {
            "object": celpy.json_to_cel(found),
            "variables": celpy.celtypes.MapType({celpy.celtypes.StringType(k): v for k, v in variables.items()}),
        }
        # Of Kubernetes' own libraries, the policy uses this function.
        functions = {"join": lambda words, by: celpy.celtypes.StringType(str(by).join(map(str, words)))}
        return environment.program(environment.compile(expression), functions=functions).evaluate(context)

    for variable in policy["spec"]["variables"]:
        variables[variable["name"]] = evaluate(variable["expression"])
    return [each["message"] for each in policy["spec"]["validations"] if not evaluate(each["expression"])]


def main() -> int:
    """Print what the policy says of each case; return 1 if that is wrong for one."""
    subject = job("tf-2.15-cuda12.2", REGISTRY, 1)
    policy, _ = yaml.safe_load_all(admission_policy(subject, REGISTRY, DriverLabels.DRIVER, TEMPLATES).text)
    files = {file.path: file.text for file in manifests(subject, ClusterSettings(), TEMPLATES)}
    wrong = 0
    for name, admitted, found in cases(yaml.safe_load(files["job.yaml"])):
        said = refusals(policy, found)
        wrong += admitted is bool(said)
        print(f"{name}: {'; '.join(said) or 'admitted'}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
