"""Made-up nodes: compute capabilities and drivers at, beside and between the numbers that decide."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from hypothesis import strategies as st

from envbuilder.catalog.compatibility import judge_stack
from envbuilder.catalog.machine import Host, HostGpu
from envbuilder.catalog.node_requirements import NodeRequirements, node_requirements
from envbuilder.catalog.verdicts import Fit, Stack, stack_of
from envbuilder.core.versions import Release
from tests.fakes.catalogs import real_catalog, real_row

CATALOG = real_catalog()
FACTS = CATALOG.cuda
STACKS = tuple(
    stack_of(row, next(each for each in row.bases if each.system.id == base))
    for row, base in (
        (real_row("tf-2.4-cuda11.0"), "debian-bullseye"),
        (real_row("tf-2.12-cuda11.8"), "nvidia-cuda-11.8.0-cudnn8"),
        (real_row("tf-2.15-cuda12.2"), "debian-bookworm"),
        (real_row("tf-2.15-cpu"), "debian-bookworm"),
    )
)
"""Libraries older than the floor of their family; a library for forward compatibility; PTX; no GPU."""
PRODUCTS = ("Tesla V100-SXM2-16GB", "NVIDIA H100 PCIe")
_CAPABILITIES = (*sorted({gpu.capability.text for gpu in FACTS.gpus}), "3.0", "7.2", "8.7", "10.3", "13.0")
_RELEASES = sorted(
    {
        *(each.driver for each in FACTS.releases),
        *(each.driver for each in FACTS.families),
        *(driver for rule in FACTS.forward for driver in rule.drivers),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeNode:
    """One node with one kind of GPU."""

    capability: str
    driver: tuple[int, int, int]
    product: str = ""
    avx: bool = True

    @property
    def release(self) -> Release:
        return Release("{}.{:02d}.{:02d}".format(*self.driver))

    def is_accepted(self, stack: Stack, accepted: frozenset[Fit]) -> bool:
        """Whether the judge says that it runs the image."""
        gpu = HostGpu(name=self.product, capability=Release(self.capability))
        host = Host(name="", driver=self.release, gpus=(gpu,), machine="x86_64", avx=self.avx)
        fit = judge_stack(FACTS, stack, host).fit
        return fit in accepted or (stack.need is None and fit is Fit.CPU_ONLY)


def _near(release: Release, change: tuple[int, int, int]) -> tuple[int, int, int]:
    major, minor, revision = (max(0, number + more) for number, more in zip(release.head(3), change, strict=True))
    return major, minor, revision


_steps = st.sampled_from((-1, 0, 0, 1))
drivers = st.one_of(
    st.builds(_near, st.sampled_from(_RELEASES), st.tuples(_steps, _steps, _steps)),
    st.tuples(st.integers(300, 700), st.integers(0, 200), st.integers(0, 30)),
)
nodes = st.builds(
    MadeNode,
    capability=st.sampled_from(_CAPABILITIES),
    driver=drivers,
    avx=st.sampled_from((True, True, True, False)),
)
named_nodes = st.builds(
    lambda product, driver: MadeNode(capability={"T": "7.0", "N": "9.0"}[product[0]], driver=driver, product=product),
    st.sampled_from(PRODUCTS),
    drivers,
)


@cache
def requirements_of(image: Stack) -> NodeRequirements:
    """Return the requirements with the known products; each takes a second."""
    return node_requirements(FACTS, image, products=PRODUCTS)
