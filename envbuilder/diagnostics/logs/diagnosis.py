"""A log to its diagnosis: the causes with their proof and remedy, the noise, and what the log says of versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from envbuilder.catalog.api_names import ApiMap
from envbuilder.catalog.buildable import Inventory
from envbuilder.catalog.environments import Catalog
from envbuilder.diagnostics.findings import Finding, LogLine, Remedy, Severity
from envbuilder.diagnostics.logs.context import LogContext, contradictions, merged
from envbuilder.diagnostics.logs.environments import row_of
from envbuilder.diagnostics.logs.evidence import Evidence, Hit
from envbuilder.diagnostics.logs.extract import ExtractedFacts, extracted
from envbuilder.diagnostics.logs.log_facts import LogFacts, hits_of
from envbuilder.diagnostics.logs.offers import capabilities_named
from envbuilder.diagnostics.logs.remedies import remedy
from envbuilder.diagnostics.logs.scanner import scan
from envbuilder.diagnostics.logs.scoring import Ranked, rank
from envbuilder.diagnostics.logs.scoring_ambiguity import UNDECIDED
from envbuilder.diagnostics.logs.signatures import Failures, Role

_LINES = 20
_QUOTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A cause that the log speaks for.

    Attributes:
        finding: The class of failure, what is wrong, the most telling lines, and what to do; a note if nothing failed.
        title: The class in one line.
        confidence: From 0 to 1.
        lines: Numbers of the lines that speak for it, ascending, at most 20.
        signatures: Ids of the signatures that found them.
        tell: Command that tells it from the next candidate; empty when it needs no telling.
        explains: Classes whose evidence follows from this.
        notes: Where facts or a lock agree or disagree.
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
        """Whether nothing failed."""
        return self.finding.severity is Severity.NOTE

    @property
    def commands(self) -> tuple[str, ...]:
        """What to type, in order."""
        return tuple(command for remedy in self.finding.remedies for command in remedy.command.splitlines())


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """A harmless kind of line.

    Attributes:
        id: Its signature.
        count: How many lines.
        first: Number of the first.
        why: Why it means nothing.
    """

    id: str
    count: int
    first: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What a log says.

    Attributes:
        lines: How many lines it has.
        causes: Most likely first; empty when nothing was found.
        noise: By first line.
        seen: Versions, GPUs and memory.
    """

    lines: int
    causes: tuple[Cause, ...]
    noise: tuple[Noise, ...]
    seen: ExtractedFacts


def no_inventory() -> None:
    """Return None: every environment is taken to be buildable."""


def diagnose(  # noqa: PLR0913  each is asked of the caller alone
    catalog: Catalog,
    failures: Failures,
    read: Callable[[int], bytes],
    known: LogContext | None = None,
    *,
    api: Callable[[], ApiMap] = ApiMap,
    inventory: Callable[[], Inventory | None] = no_inventory,
) -> Diagnosis:
    """Read a log to its end and judge it.

    Args:
        catalog: The rows, for the remedies.
        failures: The signatures.
        read: Gives at most that many bytes of the log, and none at its end.
        known: What is known beside the log, from facts or a lock.
        api: Gives the public names of TensorFlow; called at most once, and only for a log that misses one.
        inventory: Gives what a build can use here; no environment is recommended that cannot be built with that.
    """
    evidence = scan(failures, read)
    said = _with_gpus(catalog, evidence, merged(extracted(evidence), known))
    facts = LogFacts(
        evidence=evidence,
        extracted=said,
        failures=failures,
        catalog=catalog,
        row=row_of(catalog, said),
        api=cache(api),
        inventory=cache(inventory),
    )
    return _judge(facts, known)


def _with_gpus(catalog: Catalog, evidence: Evidence, said: ExtractedFacts) -> ExtractedFacts:
    """The compute capabilities of GPUs that are only called by name."""
    if said.capabilities:
        return said
    names = (*said.gpus, *evidence.captures("gpu_text"))
    return replace(said, capabilities=capabilities_named(catalog.cuda, names))


def _judge(facts: LogFacts, known: LogContext | None) -> Diagnosis:
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
    """Whether the first cause is sure enough to need no telling from the next."""
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
    """What a harmless verdict lacks."""
    if ranked.failure.harmless and ranked.confidence <= UNDECIDED:
        return ("No later output of the program shows that it went on",)
    return ()


def _support(facts: LogFacts, name: str) -> tuple[Hit, ...]:
    """What a class without a signature of its own in this log was judged from."""
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
    """The first line of each signature, then further ones of the strongest, without repeating a text."""
    samples = [hit.samples[0] for hit in hits]
    samples += [sample for hit in hits[:1] for sample in hit.samples[1:]]
    chosen = list({sample.line: sample for sample in samples}.values())[:_QUOTES]
    return tuple(LogLine(line=each.line, text=each.text) for each in sorted(chosen, key=lambda sample: sample.line))
