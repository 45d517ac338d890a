"""Measure how well logs with known causes are diagnosed: `python -m tools.diagnose_cases DIRECTORY…`.

A case is a YAML file with at least `id`, `class` and `log`. Printed are what was run on, precision and recall per
class, how far the confidence can be believed, and every miss.
"""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.load.api_names import load_api
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.diagnostics.logs.diagnosis import Diagnosis, diagnose
from envbuilder.diagnostics.logs.signatures import Failures, load_failures

MATRICES = Path(__file__).parents[1] / "matrices"
NOTHING = "(nothing found)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A log with its known cause."""

    id: str
    failure: str
    log: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A case and what was made of it."""

    case: Case
    diagnosis: Diagnosis

    @property
    def found(self) -> str:
        """The class that stands first."""
        return self.diagnosis.causes[0].finding.id if self.diagnosis.causes else NOTHING

    @property
    def confidence(self) -> float:
        """That of the first cause."""
        return self.diagnosis.causes[0].confidence if self.diagnosis.causes else 0.0

    @property
    def right(self) -> bool:
        """Whether the first class is the known one."""
        return self.found == self.case.failure


def cases(folder: Path) -> tuple[Case, ...]:
    """The cases of a folder, by file name."""
    return tuple(_case(file) for file in sorted(folder.glob("*.yaml")))


def _case(file: Path) -> Case:
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    return Case(id=str(document.get("id", file.stem)), failure=document["class"], log=document["log"])


def run(catalog: Catalog, failures: Failures, chosen: Iterable[Case]) -> tuple[Outcome, ...]:
    """Diagnose each case from its log alone."""
    api = load_api(MATRICES)
    return tuple(
        Outcome(case=case, diagnosis=diagnose(catalog, failures, io.BytesIO(case.log.encode()).read, api=lambda: api))
        for case in chosen
    )


def report(outcomes: Sequence[Outcome], failures: Failures) -> str:
    """The table of classes, the table of confidence, the misses."""
    harmless = {failure.id for failure in failures.classes if failure.harmless}
    right = sum(outcome.right for outcome in outcomes)
    alarms = [each for each in outcomes if each.case.failure in harmless and each.found not in {*harmless, NOTHING}]
    among = sum(_among(each) for each in outcomes)
    lines = [
        f"{right} of {len(outcomes)} have the right class first; {among} have it among the candidates",
        f"harmless logs called a failure: {len(alarms)}",
        "",
        *_classes(outcomes),
        "",
        *_reliability(outcomes),
    ]
    misses = [each for each in outcomes if not each.right]
    lines += ["", "MISSES" if misses else "no misses"]
    for each in misses:
        ranked = ", ".join(f"{cause.finding.id} {cause.confidence:.2f}" for cause in each.diagnosis.causes) or NOTHING
        lines.append(f"  {each.case.id}: is {each.case.failure}; found {ranked}")
    return "\n".join(lines)


def _classes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield f"{'CLASS':30}{'CASES':>6}{'FOUND':>7}{'RIGHT':>7}{'PRECISION':>11}{'RECALL':>8}"
    known, found = Counter(each.case.failure for each in outcomes), Counter(each.found for each in outcomes)
    hits = Counter(each.found for each in outcomes if each.right)
    for name in sorted({*known, *found}):
        precision, recall = _share(hits[name], found[name]), _share(hits[name], known[name])
        yield f"{name:30}{known[name]:6}{found[name]:7}{hits[name]:7}{precision:>11}{recall:>8}"


def _reliability(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """How often causes of about the same confidence are right."""
    yield f"{'CONFIDENCE':14}{'CASES':>6}{'MEAN':>7}{'RIGHT':>7}"
    for low, high in ((0.0, 0.5), (0.5, 0.7), (0.7, 0.85), (0.85, 0.93), (0.93, 1.01)):
        inside = [each for each in outcomes if low <= each.confidence < high]
        if inside:
            mean = sum(each.confidence for each in inside) / len(inside)
            share = sum(each.right for each in inside) / len(inside)
            yield f"{low:.2f} - {min(high, 1):.2f}   {len(inside):6}{mean:7.2f}{share:7.2f}"


def _among(outcome: Outcome) -> bool:
    return outcome.case.failure in {cause.finding.id for cause in outcome.diagnosis.causes}


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "-"


def main(folders: Sequence[str]) -> int:
    """Run on the folders; status 2 without one that has cases."""
    chosen = [case for folder in folders for case in cases(Path(folder))]
    if not chosen:
        print("no directory with cases; usage: python -m tools.diagnose_cases DIRECTORY…")
        return 2
    failures = load_failures(MATRICES)
    print(f"run on {len(chosen)} logs of {', '.join(folders)} (their text only)\n")
    print(report(run(load_catalog(MATRICES), failures, chosen), failures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
