"""Documents of `list --gpus` and `list --fits`."""

from __future__ import annotations

from typing import Literal, TypedDict

from envbuilder.catalog.coverage import Part
from envbuilder.catalog.cuda import Coverage
from envbuilder.catalog.verdicts import Aspect, Fit, Rule
from envbuilder.cli.documents.environments import Buildable


class Architecture(TypedDict):
    """GPUs of one compute capability."""

    capability: str
    generation: str
    names: list[str]
    first_cuda: str
    last_cuda: str | None


class PartOfSupport(TypedDict):
    """The support of a GPU by TensorFlow, the CUDA libraries or cuDNN."""

    part: Part
    family: str | None
    outcome: Literal["machine-code", "jit", "none", "not-proven"]
    text: str


class Support(TypedDict):
    """The support of the GPUs of one compute capability."""

    capability: str
    outcome: Coverage
    doubtful: bool
    driver: str | None
    ptx_driver: str | None
    reasons: list[PartOfSupport]


class SupportOnBase(TypedDict):
    """The support of GPUs by an environment on one base."""

    id: str
    cuda: str | None
    cudnn: str | None
    driver: str | None
    gpus: list[Support]


class SupportOfEnvironment(TypedDict):
    """The support of GPUs by an environment."""

    id: str
    bases: list[SupportOnBase]


class GpuTable(TypedDict):
    """`list --gpus`: the support of each GPU by each environment on each base."""

    schema: Literal[1]
    gpus: list[Architecture]
    environments: list[SupportOfEnvironment]
    left_out: list[str]


class Reason(TypedDict):
    """One reason of the judge of compatibility."""

    aspect: Aspect
    rule: Rule
    fit: Fit
    text: str
    caveat: bool
    change: str | None
    sources: list[str]


class GpuVerdict(TypedDict):
    """The verdict about one kind of GPU of a machine."""

    name: str
    capability: str | None
    fit: Fit
    code: Coverage | None
    reasons: list[Reason]
    driver: str | None


class Offer(TypedDict):
    """An environment on its best base for a machine."""

    environment: str
    base: str
    fit: Fit
    reasons: list[Reason]
    gpus: list[GpuVerdict]
    driver: str | None
    bare: str | None
    buildable: Buildable


class FitList(TypedDict):
    """`list --fits`: the verdict about each environment on a machine."""

    schema: Literal[1]
    host: str
    environments: list[Offer]
