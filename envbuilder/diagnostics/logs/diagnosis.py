"""Diagnosis of a log: causes with evidence and remedy, noise, and stated versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from envbuilder.catalog.api_names import ApiMap
from envbuilder.catalog.buildable import Inventory
from envbuilder.catalog.environments import Catalog
from envbuilder.diagnostics.findings import Finding, LogLine, Remedy, Severity
from envbuilder.diagnostics.logs.context import LogContext, contradictions, merged
from envbuilder.diagnostics.logs.environments import capabilities_named, row_of
from envbuilder.diagnostics.logs.evidence import Evidence, ExtractedFacts, Hit, extracted
from envbuilder.diagnostics.logs.log_facts import LogFacts, hits_of
from envbuilder.diagnostics.logs.remedies import remedy
from envbuilder.diagnostics.logs.scanner import scan
from envbuilder.diagnostics.logs.scoring import UNDECIDED, Ranked, rank
from envbuilder.diagnostics.logs.signatures import Failures, Role

_LINES = 20
_QUOTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A probable cause.

    Attributes:
        finding: The class of failure, the problem, the most relevant lines, and the remedies; a note if nothing failed.
        confidence: From 0 to 1.
        lines: Numbers of the lines that support it, ascending, at most 20.
        signatures: Ids of the signatures that found them.
        tell: Command that distinguishes it from the next candidate; empty if that is not necessary.
        explains: Classes whose evidence is a consequence of this one.
        notes: Agreement or disagreement with facts or a lock.
    """

    finding: Finding
    title: str
    confidence: float
    lines: tuple[int, ...]
    signatures: tuple[str, ...]
    tell: str
    explains: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def is_harmless(self) -> bool:
        """True if nothing failed."""
        return self.finding.severity is Severity.NOTE

    @property
    def commands(self) -> tuple[str, ...]:
        """Commands of the remedies, in order."""
        return tuple(command for remedy in self.finding.remedies for command in remedy.command.splitlines())


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """A kind of harmless lines.

    Attributes:
        first: Number of the first one.
    """

    id: str
    count: int
    first: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The diagnosis of a log.

    Attributes:
        causes: Most likely first; empty when nothing was found.
        noise: By first line.
    """

    lines: int
    causes: tuple[Cause, ...]
    noise: tuple[Noise, ...]
    seen: ExtractedFacts


def no_inventory() -> None:
    """Return None: every environment counts as buildable."""


def diagnose(  # noqa: PLR0913  each is asked of the caller alone
    catalog: Catalog,
    failures: Failures,
    read: Callable[[int], bytes],
    known: LogContext | None = None,
    *,
    api: Callable[[], ApiMap] = ApiMap,
    inventory: Callable[[], Inventory | None] = no_inventory,
) -> Diagnosis:
    """Read a log to its end and diagnose it.

    Args:
        catalog: The rows, for the remedies.
        failures: The signatures.
        read: Returns at most that many bytes of the log, and none at its end.
        known: Context of the log, from facts or a lock.
        api: Returns the public names of TensorFlow; called at most once, and only for a log with a missing name.
        inventory: Returns the parts that a build can use on this machine; others are not recommended.
    """
    evidence = scan(failures, read)
    extracted_facts = _with_gpus(catalog, evidence, merged(extracted(evidence), known))
    facts = LogFacts(
        evidence=evidence,
        extracted=extracted_facts,
        failures=failures,
        catalog=catalog,
        row=row_of(catalog, extracted_facts),
        api=cache(api),
        inventory=cache(inventory),
    )
    return _diagnosis(facts, known)


def _with_gpus(catalog: Catalog, evidence: Evidence, extracted_facts: ExtractedFacts) -> ExtractedFacts:
    """Add the compute capabilities of GPUs that the log names without them."""
    if extracted_facts.capabilities:
        return extracted_facts
    names = (*extracted_facts.gpus, *evidence.captures("gpu_text"))
    return replace(extracted_facts, capabilities=capabilities_named(catalog.cuda, names))


def _diagnosis(facts: LogFacts, known: LogContext | None) -> Diagnosis:
    ranked = contradictions(facts, rank(facts), known)
    return Diagnosis(
        lines=facts.evidence.lines,
        causes=tuple(_cause(facts, each, notes, alone=_alone(ranked)) for each, notes in ranked),
        noise=tuple(
            Noise(id=hit.signature.id, count=hit.count, first=hit.first, why=hit.signature.cause)
            for hit in facts.evidence.of(Role.NOISE)
        ),
        seen=facts.extracted,
    )


def _alone(ranked: tuple[tuple[Ranked, tuple[str, ...]], ...]) -> bool:
    """Return True if the first cause is certain enough without comparison with the next."""
    if len(ranked) < 2:
        return True
    first, second = ranked[0][0].confidence, ranked[1][0].confidence
    return first > UNDECIDED and first - second > 0.3


def _cause(facts: LogFacts, ranked: Ranked, notes: tuple[str, ...], *, alone: bool) -> Cause:
    failure = ranked.failure
    hits = hits_of(facts, failure.id) or _support(facts, failure.id)
    words = remedy(facts, failure)
    finding = Finding(
        id=failure.id,
        severity=Severity.NOTE if failure.harmless else Severity.PROBLEM,
        message=words.cause,
        evidence=_quotes(hits),
        remedies=(Remedy(text=words.fix, command="\n".join(words.commands)),),
    )
    return Cause(
        finding=finding,
        title=failure.title,
        confidence=ranked.confidence,
        lines=_lines(hits),
        signatures=tuple(hit.signature.id for hit in hits),
        tell="" if alone else failure.tell,
        explains=ranked.explains,
        notes=(*notes, *_doubts(ranked)),
    )


def _doubts(ranked: Ranked) -> tuple[str, ...]:
    """Return the missing evidence for a harmless verdict."""
    if ranked.failure.harmless and ranked.confidence <= UNDECIDED:
        return ("No later output of the program shows that it went on",)
    return ()


def _support(facts: LogFacts, name: str) -> tuple[Hit, ...]:
    """Return the signatures that support a class without signatures of its own in this log."""
    if facts.failures.failure(name).harmless:
        return facts.evidence.of(Role.NOISE) or facts.evidence.of(Role.CAUSE)
    figures = ("ctx-gpu-memory", "ctx-bfc-stats", "ctx-device-memory", "ctx-wsl", "ctx-wsl-host")
    context = [facts.evidence.hits[figure] for figure in figures if facts.has(figure)]
    return (*context, *facts.evidence.of(Role.CAUSE))


def _lines(hits: tuple[Hit, ...]) -> tuple[int, ...]:
    numbers: list[int] = []
    for hit in hits:
        numbers.extend(sample.line for sample in hit.samples)
    return tuple(sorted(list(dict.fromkeys(numbers))[:_LINES]))


def _quotes(hits: tuple[Hit, ...]) -> tuple[LogLine, ...]:
    """Return the first line of each signature, then further ones of the strongest, without repeating a text."""
    samples = [hit.samples[0] for hit in hits]
    samples += [sample for hit in hits[:1] for sample in hit.samples[1:]]
    chosen = list({sample.line: sample for sample in samples}.values())[:_QUOTES]
    return tuple(LogLine(line=each.line, text=each.text) for each in sorted(chosen, key=lambda sample: sample.line))
