"""Context of a log, and what it says for or against the causes of a failure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from envbuilder.catalog.driver_requirements import is_too_old
from envbuilder.catalog.machine import Host
from envbuilder.core.versions import Release
from envbuilder.diagnostics.logs.evidence import ExtractedFacts
from envbuilder.diagnostics.logs.log_facts import LogFacts
from envbuilder.diagnostics.logs.scoring import LEAST, Ranked

_FREE_ENOUGH = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class LogContext:
    """The known context of a log.

    Attributes:
        host: The machine; None when no facts were given.
        tensorflow: Release of TensorFlow in the facts or the lock.
        python: Release of the interpreter in them.
    """

    host: Host | None = None
    tensorflow: Release | None = None
    python: Release | None = None


def merged(extracted: ExtractedFacts, known: LogContext | None) -> ExtractedFacts:
    """Return the statements of the log, completed by the context."""
    if known is None:
        return extracted
    host = known.host
    gpus = (host.gpus or ()) if host else ()
    return replace(
        extracted,
        tensorflow=extracted.tensorflow or known.tensorflow,
        python=extracted.python or known.python,
        driver=extracted.driver or (host.driver if host else None),
        gpus=extracted.gpus or tuple(dict.fromkeys(gpu.name for gpu in gpus if gpu.name)),
        capabilities=extracted.capabilities or tuple(dict.fromkeys(gpu.capability for gpu in gpus if gpu.capability)),
        memory=extracted.memory or max((gpu.memory for gpu in gpus if gpu.memory), default=None),
    )


def contradictions(
    facts: LogFacts, ranked: tuple[Ranked, ...], known: LogContext | None
) -> tuple[tuple[Ranked, tuple[str, ...]], ...]:
    """Lower causes that the facts contradict, raise those that they support, and add notes about it.

    Returns:
        The causes with notes, most likely first.
    """
    if known is None or known.host is None:
        return tuple((each, ()) for each in ranked)
    weighed = [_weighed(facts, each, known.host) for each in ranked]
    kept = [pair for pair in weighed if pair[0].confidence >= LEAST]
    return tuple(sorted(kept, key=lambda pair: -pair[0].confidence))


def _weighed(facts: LogFacts, ranked: Ranked, host: Host) -> tuple[Ranked, tuple[str, ...]]:
    verdict = _verdict(facts, ranked.failure.id, host)
    if verdict is None:
        return ranked, ()
    speaks_for, note = verdict
    confidence = ranked.confidence
    weighed = confidence + (1 - confidence) * 0.5 if speaks_for else confidence * 0.5
    return replace(ranked, confidence=round(min(0.98, weighed), 2)), (note,)


def _verdict(facts: LogFacts, name: str, host: Host) -> tuple[bool, str] | None:
    """Return whether the facts of a machine support a class, with the reason; None if they do not decide."""
    gpus = host.gpus
    if name == "driver-too-old" and (floor := facts.driver_floor):
        too_old = is_too_old(facts.catalog.cuda, host, floor)
        note = f"{host.name}: driver {host.driver}, and CUDA {facts.cuda} needs {floor}"
        return None if too_old is None else (too_old, note)
    if name == "cpu-no-avx" and host.avx is not None:
        return not host.avx, f"{host.name}: the processor {'has' if host.avx else 'has no'} AVX"
    if name == "no-driver-or-gpu-not-passed" and gpus is not None:
        there = f"{len(gpus)} GPU{'s' if len(gpus) != 1 else ''}" if gpus else "no GPU"
        note = f"{host.name}: driver {host.driver or 'none'}, {there}"
        return not gpus, note + ("; if that is the host, the container was not given them" if gpus else "")
    if name == "oom-other-process" and gpus:
        sizes = [(gpu.free, gpu.memory) for gpu in gpus if gpu.free is not None and gpu.memory]
        held = [free for free, total in sizes if free is not None and total and free < _FREE_ENOUGH * total]
        return (
            (
                bool(held),
                f"{host.name}: {'some GPU memory is held by others' if held else 'all GPU memory is free now'}",
            )
            if sizes
            else None
        )
    return None
