"""Facts and the environment of the host as the findings look at them: what was seen, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.facts import DriverInterface, Facts, Seen, known
from envbuilder.diagnostics.facts.hardware import Nvml, NvmlGpu
from envbuilder.diagnostics.facts.host import BusGpu, DeviceNode, HostFacts
from envbuilder.diagnostics.facts.node import Interpreter, Machine
from envbuilder.diagnostics.host.environment import HostEnvironment

_FOR_OTHERS = frozenset({"vfio-pci", "pci-stub"})


@dataclass(frozen=True, kw_only=True)
class MachineView:
    """One machine.

    Attributes:
        host_environment: What stands around; None if it was not examined.
    """

    facts: Facts
    host_environment: HostEnvironment | None = None

    @cached_property
    def host(self) -> HostFacts | None:
        """The host around the driver."""
        return known(self.facts.host)

    @cached_property
    def machine(self) -> Machine | None:
        """Processor and memory."""
        return known(self.facts.machine)

    @cached_property
    def interpreter(self) -> Interpreter | None:
        """The interpreter that ran the probe."""
        return known(self.facts.interpreter)

    @cached_property
    def nvml(self) -> Nvml | None:
        """The management library, started or not."""
        return known(self.facts.nvml)

    @cached_property
    def interface(self) -> DriverInterface | None:
        """The driver's library, started or not."""
        return self.facts.interface

    @property
    def init_code(self) -> int | None:
        """Result of `cuInit`; None if it was not called."""
        return self.interface.init_code if self.interface else None

    @property
    def module(self) -> Release | None:
        """Release of the kernel module that is loaded."""
        return self.facts.driver.value.module if isinstance(self.facts.driver, Seen) else None

    @property
    def libraries(self) -> tuple[Release, ...]:
        """Releases in the file names of the driver's libraries, each once, ascending."""
        of_cuda = self.facts.driver.value.library if isinstance(self.facts.driver, Seen) else None
        of_nvml = self.nvml.library if self.nvml else None
        return tuple(sorted({release for release in (of_cuda, of_nvml) if release is not None}))

    @property
    def gpus(self) -> tuple[NvmlGpu, ...]:
        """The GPUs that NVML reports."""
        return self.nvml.gpus if self.nvml else ()

    @property
    def bus(self) -> tuple[BusGpu, ...]:
        """GPUs of NVIDIA on the bus that this system can use, not those for a virtual machine."""
        found = self.host.bus if self.host else None
        return tuple(gpu for gpu in found or () if gpu.driver not in _FOR_OTHERS)

    @property
    def lent(self) -> tuple[BusGpu, ...]:
        """GPUs of NVIDIA that are reserved for virtual machines."""
        found = self.host.bus if self.host else None
        return tuple(gpu for gpu in found or () if gpu.driver in _FOR_OTHERS)

    @property
    def nodes(self) -> tuple[DeviceNode, ...]:
        """Device nodes of the driver, present or not."""
        return self.host.nodes.value if self.host and isinstance(self.host.nodes, Seen) else ()

    @property
    def is_module_loaded(self) -> bool:
        """True if the driver's kernel module is loaded."""
        loaded = self.host.modules.nvidia if self.host and self.host.modules else False
        return loaded or self.module is not None

    @property
    def is_library_there(self) -> bool:
        """True if a part of the driver that programs use is installed."""
        opened = any(each.loadable and not each.stub for each in (self.interface, self.nvml) if each)
        return opened or bool(self.host and self.host.smi is not None)

    @property
    def has_gpu(self) -> bool:
        """True if any source shows an NVIDIA GPU."""
        driven = self.interface.gpus if self.interface else ()
        lent = self.host.wsl.device if self.host else False
        smi = self.host.smi if self.host else ()
        return bool(self.gpus or driven or self.bus or smi or lent)

    @property
    def container(self) -> str:
        """Kind of container; empty outside."""
        return self.host.container if self.host else ""

    def variable(self, name: str) -> str | None:
        """Return the value of an environment variable; None if it is not set or unknown."""
        if self.host is None and name == "CUDA_VISIBLE_DEVICES":
            # Earlier probes stored this one with the GPUs.
            return self.nvml.visible if self.nvml else None
        return self.host.variable(name) if self.host else None
