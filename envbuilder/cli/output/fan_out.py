"""Output of commands that ran elsewhere: a line for each document, and the document of them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Protocol, assert_never

from envbuilder.cluster.execution.executor import Done, FailedItem, Lost, Outcome
from envbuilder.core.json_fields import at, number, records, text
from envbuilder.core.units import size

Document = Mapping[str, object]


class FanOutOutput(Protocol):
    """Output of one command for several documents of it."""

    def line(self, document: Document) -> str:
        """Return a document in one line."""
        ...

    def merged(self, documents: Sequence[Document]) -> dict[str, object]:
        """Return one document for several, as the command prints it for them all."""
        ...


def outcome_line(outcome: Outcome, output: FanOutOutput) -> str:
    """Return the outcome of an item in one line."""
    match outcome:
        case Done():
            how = "by an earlier call" if outcome.recorded else f"{outcome.seconds:.1f} s on {outcome.node}"
            return f"{outcome.name}: {output.line(outcome.document)} ({how})"
        case FailedItem():
            node = f" on {outcome.node}" if outcome.node else ""
            return f"{outcome.name}: failed with status {outcome.status}{node}: {outcome.reason}"
        case Lost():
            return f"{outcome.name}: lost: {outcome.reason}"
        case _:
            assert_never(outcome)


class ProofOutput:
    """Output of `catalog prove`."""

    def line(self, document: Document) -> str:
        """See `FanOutOutput.line`."""
        tier = text(document, "tier")
        for row in records(document, "environments"):
            if row.get("proven") is True:
                seen = [text(each, "what") for each in records(row, "evidence") if text(each, "grade").startswith(tier)]
                return f"{tier}: {seen[-1]}" if seen else tier
            why = [text(each, "why") for each in records(row, "unproven")]
            return f"not proven: {why[-1] if why else 'no reason recorded'}"
        return "no result"

    def merged(self, documents: Sequence[Document]) -> dict[str, object]:
        """See `FanOutOutput.merged`."""
        tier = text(documents[0], "tier") if documents else None
        return {"schema": 1, "tier": tier, "environments": _joined(documents, "environments")}


class AuditOutput:
    """Output of `catalog audit`."""

    def line(self, document: Document) -> str:
        """See `FanOutOutput.line`."""
        wheels = records(document, "wheels")
        fields = [text(each, "field") for wheel in wheels for each in records(wheel, "differences")]
        return f"differs from its wheel: {', '.join(fields)}" if fields else "agrees with its wheel"

    def merged(self, documents: Sequence[Document]) -> dict[str, object]:
        """See `FanOutOutput.merged`."""
        return {"schema": 1, "wheels": _joined(documents, "wheels")}


class ReportOutputs:
    """Output of `validate`."""

    def line(self, document: Document) -> str:
        """See `FanOutOutput.line`."""
        failed = [text(each, "id") for each in records(document, "results") if text(each, "outcome") == "failed"]
        if document.get("passed") is True:
            return "passed"
        return f"failed: {', '.join(failed)}" if failed else "failed: a required check is not proven"

    def merged(self, documents: Sequence[Document]) -> dict[str, object]:
        """See `FanOutOutput.merged`."""
        passed = all(each.get("passed") is True for each in documents)
        return {"schema": 1, "passed": passed, "reports": list(documents)}


class BuildOutput:
    """Output of `build`."""

    def line(self, document: Document) -> str:
        """See `FanOutOutput.line`."""
        lines = []
        for image in records(document, "images"):
            pushed = [f"pushed {text(each, 'reference')}" for each in records(image, "pushed")]
            digest = text(image, "manifest") or text(image, "id")
            lines.append(", ".join([f"{size(number(image, 'size'))}, {digest}", *pushed]))
        return "; ".join(lines)

    def merged(self, documents: Sequence[Document]) -> dict[str, object]:
        """See `FanOutOutput.merged`.

        The engine is that of the first build, and the seconds are those of all builds together. The logs stay where the
        builds ran.
        """
        layers = {
            text(layer, "digest"): number(layer, "size")
            for document in documents
            for image in records(document, "images")
            for layer in records(image, "layers")
        }
        downloaded = [at(each, "downloaded_bytes") for each in documents]
        return {
            "schema": 1,
            "engine": text(documents[0], "engine") if documents else None,
            "images": _joined(documents, "images"),
            "distinct_bytes": None if "" in layers else sum(layers.values()),
            "downloaded_bytes": sum(each for each in downloaded if isinstance(each, int))
            if None not in downloaded
            else None,
            "seconds": round(sum(each for each in (at(d, "seconds") for d in documents) if isinstance(each, float)), 3),
            "steps": _joined(documents, "steps"),
            "log": None,
            "signatures": _joined(documents, "signatures"),
        }


def _joined(documents: Sequence[Document], field: str) -> list[object]:
    """Return the entries of a list field of all documents, in their order."""
    return list(chain.from_iterable(records(each, field) for each in documents))
