"""Output of `list` and `show` about the availability of environments for a build on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envbuilder.catalog.buildable import Buildability, Buildable
from envbuilder.cli.output.printing import heading

_TITLES = {
    Buildability.UNKNOWN: "May not be buildable from here",
    Buildability.NO: "Cannot be built from here",
}


def buildable_document(answer: Buildable) -> dict[str, object]:
    """Return an answer for `--json`."""
    return {
        "verdict": answer.verdict.value,
        "base": answer.base,
        "reasons": list(answer.reasons),
        "hint": answer.hint,
    }


def buildable_notes(answers: Sequence[Buildable]) -> Iterator[str]:
    """Yield environments that are not, or perhaps not, buildable; those with the same reason together."""
    for verdict, title in _TITLES.items():
        hints: dict[str, dict[str, list[str]]] = {}
        for answer in answers:
            if answer.verdict is verdict:
                groups = hints.setdefault(answer.hint, {})
                groups.setdefault("; ".join(answer.reasons), []).append(answer.environment)
        if hints:
            yield ""
            yield heading(title)
        for hint, groups in hints.items():
            for reason, names in groups.items():
                yield f"  {', '.join(names)}"
                yield f"      {reason}"
            yield f"  hint: {hint}"


def buildable_line(answer: Buildable) -> str:
    """Return an answer about one base as a line."""
    match answer.verdict:
        case Buildability.YES:
            return "can be built from here"
        case Buildability.UNKNOWN:
            return f"may not be buildable from here: {'; '.join(answer.reasons)}; {answer.hint}"
        case Buildability.NO:
            return f"cannot be built from here: {'; '.join(answer.reasons)}; {answer.hint}"
