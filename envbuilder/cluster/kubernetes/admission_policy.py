"""Validating admission policy: an image starts only where the scheduler compares the node with what it needs."""

from __future__ import annotations

from pathlib import Path

from envbuilder.catalog.node_requirements import describe
from envbuilder.cluster.jobs import ClusterJob, RegistryImage, header_lines
from envbuilder.cluster.kubernetes.manifests import quoted
from envbuilder.cluster.kubernetes.node_affinity import DriverLabels, LabelCondition, Term, selector_terms
from envbuilder.image.dockerfile.build_context import TextFile
from envbuilder.image.dockerfile.templates import environment

_REQUIRED_AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"
_LONGEST_MESSAGE = 1000


def _expressions(image: RegistryImage, terms: tuple[Term, ...], text: str) -> dict[str, str]:
    """Return expressions in CEL by the names that the template has for them; each reads the variables before it."""
    repository = image.reference.repository
    affinity = f"variables.pod.affinity.nodeAffinity.{_REQUIRED_AFFINITY}"
    present = (
        "has(variables.pod.affinity) && has(variables.pod.affinity.nodeAffinity)"
        f" && has({affinity.rpartition('.')[0]}.{_REQUIRED_AFFINITY})"
    )
    condition = "e.key + ' ' + e.operator + ' ' + (has(e.values) ? e.values.join(',') : '')"
    return {
        # Images of all containers of the pod.
        "images": (
            "variables.pod.containers.map(c, c.image)"
            " + (has(variables.pod.initContainers) ? variables.pod.initContainers.map(c, c.image) : [])"
        ),
        # One of them is the image, whose containers decide the rest.
        "uses_image": f"variables.images.exists(i, i.endsWith('@{image.reference.digest}'))",
        # Node selector terms of the pod, each a list of conditions as text; and those of the nodes that run the image.
        "stated": (
            f"{present} ? {affinity}.nodeSelectorTerms.map(t,"
            f" has(t.matchExpressions) ? t.matchExpressions.map(e, {condition}) : []) : []"
        ),
        "required": "[" + ",\n".join(f"[{', '.join(map(_literal, term))}]" for term in terms) + "]",
        # No container names the repository without a digest.
        "by_digest": (
            f"variables.images.all(i, i.contains('@sha256:')"
            f" || (i != '{repository}' && !i.startsWith('{repository}:')))"
        ),
        # The pod is not bound to a node.
        "by_scheduler": "!variables.usesImage || !has(variables.pod.nodeName) || variables.pod.nodeName == ''",
        # Every term of the pod has all conditions of a required term.
        "on_fitting_nodes": (
            "!variables.usesImage || (size(variables.stated) > 0 && variables.stated.all(t,"
            " variables.required.exists(r, r.all(c, c in t))))"
        ),
        "message": f"add the node affinity of `envbuilder cluster kubernetes`: {text}"[:_LONGEST_MESSAGE],
    }


def admission_policy(job: ClusterJob, image: RegistryImage, labels: DriverLabels, templates: Path) -> TextFile:
    """Return the policy and its binding; of the job only lock, image and nodes count."""
    text = describe(job.requirements)
    values = {
        "job": job,
        "lines": header_lines(job.requirements),
        "quoted": quoted,
        "cel": _expressions(image, selector_terms(job.requirements, labels), text),
    }
    template = environment(templates / "cluster" / "kubernetes").get_template("admission.yaml.j2")
    return TextFile(path="admission.yaml", text=template.render(values))


def _literal(condition: LabelCondition) -> str:
    """Return a condition as a string of CEL, in the form of `stated`; labels and values hold no quotes."""
    return f"'{condition.key} {condition.operator} {','.join(condition.values)}'"
