"""What is wrong with a machine, what could not be seen, and which environments run on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from envbuilder.model.versions import Release


class Severity(StrEnum):
    """How bad a finding is, worst first.

    `problem`: something does not work. `warning`: something will be slow, short, or fail under some load. `note`: good
    to know.
    """

    PROBLEM = "problem"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One way to mend it.

    Attributes:
        text: What it does, in a few words.
        command: What to type; empty where there is no command.
    """

    text: str
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFinding:
    """Something about the machine that matters to TensorFlow.

    Attributes:
        id: Stable kebab-case name.
        severity: How bad.
        seen: What was seen, in one sentence.
        effect: What it does to TensorFlow, or to envbuilder; may be empty.
        remedies: The best first; may be empty for a note.
    """

    id: str
    severity: Severity
    seen: str
    effect: str = ""
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotLooked:
    """Something that could not be seen.

    Attributes:
        what: What it is.
        why: Why not.
        how: What would show it; may be empty.
    """

    what: str
    why: str
    how: str = ""


class Fit(StrEnum):
    """Whether an environment runs on a machine, best first.

    `runs`: on the GPU, at once. `jit`: on the GPU, after the driver has compiled kernels at the first start.
    `unproven`: nothing speaks against it, but something is not known. `cpu-only`: on the processor. `no`: it does not.
    """

    RUNS = "runs"
    JIT = "jit"
    UNPROVEN = "unproven"
    CPU_ONLY = "cpu-only"
    NO = "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFit:
    """What one GPU gets from an environment.

    Attributes:
        name: The GPU.
        capability: Its compute capability; None when unknown.
        fit: Whether it runs there; never `cpu-only`.
        reasons: Why.
        driver: Oldest driver that would do, when the driver is what is missing; else None.
    """

    name: str
    capability: Release | None
    fit: Fit
    reasons: tuple[str, ...]
    driver: Release | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFit:
    """Whether one environment runs on a machine.

    Attributes:
        environment: Id of the row.
        base: The base that this holds for: the first of those with the best answer.
        fit: Whether it runs.
        reasons: Why, without the GPUs.
        gpus: One entry for each kind of GPU; empty when the row does not use them, or none is there.
        bare: Why it does not run without a container, in an environment on the host itself; empty when nothing speaks
            against it.
    """

    environment: str
    base: str
    fit: Fit
    reasons: tuple[str, ...]
    gpus: tuple[GpuFit, ...]
    bare: str

    @property
    def why(self) -> tuple[str, ...]:
        """All reasons; those of a GPU begin with its name where there are several kinds."""
        several = len(self.gpus) > 1
        own = [f"{gpu.name}: {reason}" if several else reason for gpu in self.gpus for reason in gpu.reasons]
        return (*self.reasons, *own)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """All of it.

    Attributes:
        findings: Worst first; within a severity in the order of the table.
        unseen: What could not be seen.
        rows: One for each environment, in the order of the catalog.
    """

    findings: tuple[MachineFinding, ...]
    unseen: tuple[NotLooked, ...]
    rows: tuple[RowFit, ...]

    @property
    def has_problems(self) -> bool:
        """Whether something does not work."""
        return any(finding.severity is Severity.PROBLEM for finding in self.findings)
