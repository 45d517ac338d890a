"""Nodes that can run an image: compute capabilities with their drivers, as `catalog/compatibility.py` judges them.

No rule is stated here. The judge is asked for every known compute capability at every driver release at which one of
its rules can change; between two of them its verdict is constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from envbuilder.catalog.compatibility import judge_stack
from envbuilder.catalog.cuda import CudaFacts
from envbuilder.catalog.gpus import Architecture
from envbuilder.catalog.machine import Host, HostGpu, gpu_asked
from envbuilder.catalog.verdicts import Compatibility, Fit, Rule, Stack
from envbuilder.core.versions import Release

RUNS = frozenset({Fit.FITS, Fit.JIT})
"""Verdicts of nodes that are known to run an image on the GPU."""
RUNS_OR_UNPROVEN = RUNS | {Fit.UNKNOWN}
"""The same, with nodes of which nothing is known that rules the image out."""
PROCESSOR = "x86_64"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverRange:
    """Consecutive driver releases.

    Attributes:
        least: Oldest release.
        before: First release above the range; None without a bound.
    """

    least: Release
    before: Release | None = None

    def __str__(self) -> str:
        return f"{self.least} or later" + (f", before {self.before}" if self.before else "")

    def includes(self, driver: Release) -> bool:
        """Return True if a driver is in the range."""
        return self.least <= driver and (self.before is None or driver < self.before)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRequirement:
    """The drivers with which an image runs on GPUs of one compute capability.

    Attributes:
        product: Name of the only GPU that it holds for, as the driver writes it; empty for every GPU.
        fits: Verdicts within the ranges, best first.
        drivers: Ascending, disjoint, at least one.
    """

    capability: Release
    product: str = ""
    fits: tuple[Fit, ...]
    drivers: tuple[DriverRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedGpu:
    """A compute capability that no driver makes usable."""

    capability: Release
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuGroup:
    """GPUs with the same drivers.

    Attributes:
        capabilities: Ascending.
        product: As in `GpuRequirement`.
        drivers: As in `GpuRequirement`.
    """

    capabilities: tuple[Release, ...]
    product: str
    drivers: tuple[DriverRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRequirements:
    """The nodes of a cluster that can run an image.

    Attributes:
        processor: Processor architecture, as `uname -m` prints it.
        needs_avx: Whether the processor must have AVX.
        uses_gpu: False for a CPU environment, which runs on nodes with and without GPUs.
        gpus: Ascending by compute capability, those for every GPU before those for a product; empty for a CPU
            environment.
        excluded: Known compute capabilities that no driver makes usable, ascending.
    """

    environment: str
    base: str
    processor: str
    needs_avx: bool
    uses_gpu: bool
    gpus: tuple[GpuRequirement, ...]
    excluded: tuple[ExcludedGpu, ...]

    @property
    def groups(self) -> tuple[GpuGroup, ...]:
        """GPUs by the drivers that they need, in the order of their first compute capability."""
        found: dict[tuple[str, tuple[DriverRange, ...]], list[Release]] = {}
        for gpu in self.gpus:
            found.setdefault((gpu.product, gpu.drivers), []).append(gpu.capability)
        return tuple(
            GpuGroup(capabilities=tuple(capabilities), product=product, drivers=drivers)
            for (product, drivers), capabilities in found.items()
        )


def node_requirements(
    facts: CudaFacts, stack: Stack, *, accepted: frozenset[Fit] = RUNS, products: Iterable[str] = ()
) -> NodeRequirements:
    """Return the nodes that can run an image.

    Args:
        facts: Drivers and GPUs.
        stack: The image.
        accepted: Verdicts that count as able to run it.
        products: Names of GPUs in the cluster. NVIDIA's forward compatibility applies to data-centre GPUs only, which
            the judge knows by their names: without a name it is left out.

    Raises:
        UsageError: A product is unknown.
    """
    known = facts.architectures if stack.need is not None else ()
    releases = _boundaries(facts)
    gpus = tuple(gpu for each in known if (gpu := _gpu(facts, stack, each, "", (releases, accepted))))
    named = [(_architecture(facts, product), product) for product in sorted(set(products)) if known]
    own = (_gpu(facts, stack, each, product, (releases, accepted)) for each, product in named)
    ranges = {gpu.capability: gpu.drivers for gpu in gpus}
    return NodeRequirements(
        environment=stack.environment,
        base=stack.base,
        processor=PROCESSOR,
        needs_avx=_needs_avx(facts, stack),
        uses_gpu=stack.need is not None,
        gpus=(*gpus, *(gpu for gpu in own if gpu and gpu.drivers != ranges.get(gpu.capability))),
        excluded=tuple(_excluded(facts, stack, each) for each in known if each.capability not in ranges),
    )


def describe(requirements: NodeRequirements) -> str:
    """Return the requirements as sentences for people.

    Example:
        >>> volta = GpuRequirement(
        ...     capability=Release("7.0"), fits=(Fit.FITS,),
        ...     drivers=(DriverRange(least=Release("525.60.13"), before=Release("581")),),
        ... )
        >>> describe(NodeRequirements(
        ...     environment="tf", base="debian", processor="x86_64", needs_avx=True, uses_gpu=True, gpus=(volta,),
        ...     excluded=(),
        ... ))
        'tf runs on x86_64 nodes with AVX: GPUs of compute capability 7.0 with driver 525.60.13 or later, before 581.'
    """
    node = f"{requirements.processor} nodes" + (" with AVX" if requirements.needs_avx else "")
    if not requirements.uses_gpu:
        return f"{requirements.environment} runs on {node}; it needs neither GPU nor driver."
    if not requirements.gpus:
        return f"{requirements.environment} runs on no known GPU."
    return f"{requirements.environment} runs on {node}: " + "; ".join(map(_described, requirements.groups)) + "."


def description_lines(requirements: NodeRequirements) -> tuple[str, ...]:
    """Return the requirements as lines for a terminal: the nodes, and a line for each group of GPUs."""
    if not requirements.groups:
        return (describe(requirements),)
    head, _, _ = describe(requirements).partition(": ")
    return (f"{head} and", *(f"  {_described(group)}" for group in requirements.groups))


def _described(group: GpuGroup) -> str:
    capabilities = ", ".join(map(str, group.capabilities))
    what = f"{group.product} ({capabilities})" if group.product else f"GPUs of compute capability {capabilities}"
    return f"{what} with driver {', or '.join(map(str, group.drivers))}"


def nvidia_require(requirements: NodeRequirements) -> str:
    """Return the value of an `NVIDIA_REQUIRE_…` variable; empty for a CPU environment.

    NVIDIA's container runtime compares it with each visible GPU before it starts a container, and refuses one without a
    fitting alternative. Alternatives are separated by spaces, conditions of one by commas. It knows no names of GPUs:
    what holds for single products is left out. A compute capability above all known ones counts as the last of these,
    since an image outlives its catalog.

    Source: https://github.com/NVIDIA/libnvidia-container/blob/main/src/cli/dsl.c, and `configure.c` beside it.
    """
    drivers = {gpu.capability: gpu.drivers for gpu in requirements.gpus if not gpu.product}
    known = sorted({*drivers, *(each.capability for each in requirements.excluded)})
    runs = [(ranges, next(members)) for ranges, members in groupby(known, key=lambda each: drivers.get(each, ()))]
    ends = [f",arch<{start}" for _, start in runs[1:]]
    return " ".join(
        f"arch>={start}{end},driver>={each.least}" + (f",driver<{each.before}" if each.before else "")
        for (ranges, start), end in zip(runs, [*ends, ""], strict=False)
        for each in ranges
    )


def document(requirements: NodeRequirements) -> dict[str, object]:
    """Return the requirements as a JSON document, which the check inside of an image reads."""
    return {
        "schema": 1,
        "environment": requirements.environment,
        "base": requirements.base,
        "processor": requirements.processor,
        "avx": requirements.needs_avx,
        "uses_gpu": requirements.uses_gpu,
        "gpus": [
            {
                "capability": str(gpu.capability),
                "product": gpu.product,
                "drivers": [
                    {"least": str(each.least), "before": str(each.before) if each.before else None}
                    for each in gpu.drivers
                ],
                "fits": [fit.value for fit in gpu.fits],
            }
            for gpu in requirements.gpus
        ],
        "excluded": [{"capability": str(each.capability), "why": each.why} for each in requirements.excluded],
        "text": describe(requirements),
    }


def _gpu(
    facts: CudaFacts,
    stack: Stack,
    architecture: Architecture,
    product: str,
    asked: tuple[tuple[Release, ...], frozenset[Fit]],
) -> GpuRequirement | None:
    """Return the drivers for a compute capability; None if there are none."""
    releases, accepted = asked
    gpu = HostGpu(name=product, capability=architecture.capability)
    verdicts = [(each, _judged(facts, stack, gpu, each).fit) for each in releases]
    fits = {fit for _, fit in verdicts} & accepted
    if not fits:
        return None
    return GpuRequirement(
        capability=architecture.capability,
        product=product,
        fits=tuple(fit for fit in Fit if fit in fits),
        drivers=tuple(_ranges([(each, fit in accepted) for each, fit in verdicts])),
    )


def _ranges(verdicts: list[tuple[Release, bool]]) -> Iterator[DriverRange]:
    """Yield the ranges of consecutive releases that are accepted."""
    runs = [(runs, next(releases)[0]) for runs, releases in groupby(verdicts, key=lambda each: each[1])]
    ends = [start for _, start in runs[1:]]
    for (runs_here, start), before in zip(runs, [*ends, None], strict=True):
        if runs_here:
            yield DriverRange(least=start, before=before)


def _judged(facts: CudaFacts, stack: Stack, gpu: HostGpu, driver: Release) -> Compatibility:
    # A release shorter than a bound does not decide it: `450` may be older or newer than `450.80.02`.
    padded = Release(".".join((*driver.text.split("."), "0", "0", "0")))
    return judge_stack(facts, stack, Host(name="", driver=padded, gpus=(gpu,), machine=PROCESSOR, avx=True))


def _boundaries(facts: CudaFacts) -> tuple[Release, ...]:
    """Return the drivers at which a rule of the judge can change, ascending: all of the tables, and their branches."""
    stated = {
        *(each.driver for each in facts.releases),
        *(each.driver for each in facts.families),
        *(driver for each in facts.forward for driver in each.drivers),
        *(each.last_driver for each in facts.gpus if each.last_driver is not None),
    }
    branches = {Release(str(each.major + more)) for each in stated for more in (0, 1)}
    return tuple(sorted({Release("0"), *stated, *branches}))


def _architecture(facts: CudaFacts, product: str) -> Architecture:
    capability = gpu_asked(facts, product).capability
    return next(each for each in facts.architectures if each.capability == capability)


def _needs_avx(facts: CudaFacts, stack: Stack) -> bool:
    verdict = judge_stack(facts, stack, Host(name="", machine=PROCESSOR, avx=False, is_described=True))
    return any(reason.rule is Rule.AVX for reason in verdict.reasons)


def _excluded(facts: CudaFacts, stack: Stack, architecture: Architecture) -> ExcludedGpu:
    gpu = HostGpu(name="", capability=architecture.capability)
    verdict = judge_stack(facts, stack, Host(name="", gpus=(gpu,), machine=PROCESSOR, avx=True, is_described=True))
    return ExcludedGpu(capability=architecture.capability, why=verdict.deciding[0].text)
