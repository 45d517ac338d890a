"""Document of `advise`."""

from __future__ import annotations

from typing import Literal, TypedDict

from envbuilder.catalog.advise.advice import Topic, Verdict, Weight
from envbuilder.catalog.cuda import Coverage
from envbuilder.catalog.evidence import Grade
from envbuilder.catalog.verdicts import Fit
from envbuilder.cli.documents.environments import Buildable


class AdviceChange(TypedDict):
    """A change that would make an environment fit."""

    topic: Topic
    text: str


class AdviceReason(TypedDict):
    """One comparison of an environment with the request."""

    topic: Topic
    weight: Weight
    text: str
    asked: str | None
    has: str | None
    sources: list[str]


class Advice(TypedDict):
    """One environment with the reasons for and against it."""

    environment: str
    verdict: Verdict
    tensorflow: str
    python: str
    base: str
    cuda: str | None
    cudnn: str | None
    driver: str | None
    fit: Fit | None
    doubtful: bool
    buildable: Buildable | None
    gpus: Coverage | None
    proven: Grade
    changes: list[AdviceChange]
    reasons: list[AdviceReason]
    steps: list[str]


class Elsewhere(TypedDict):
    """A build of NVIDIA's own."""

    name: str
    tensorflow: str
    python: str
    what: str
    sources: list[str]


class Recommendation(TypedDict):
    """Environments that fit, best first; if none does, the nearest ones."""

    schema: Literal[1]
    asked: str
    fits: list[Advice]
    nearest: list[Advice]
    elsewhere: list[Elsewhere]
