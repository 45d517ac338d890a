"""How long something takes, and the figures of one run."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Figures:
    """Seconds and bytes by name, printed as they come.

    Attributes:
        seconds: Wall time of each measured piece.
        processor: Processor time of the processes of a piece, in seconds.
        counts: Other figures: bytes, layers.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def time(self, name: str, work: Callable[[], object]) -> None:
        """Do something and note how long it took."""
        started = time.monotonic()
        work()
        self.seconds[name] = time.monotonic() - started
        print(f"{self.seconds[name]:8.1f} s  {name}", flush=True)

    def time_command(self, name: str, work: Callable[[], object]) -> None:
        """Do something by processes that end with it, and note how long it took, and their processor time."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.time(name, work)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.processor[name] = spent
        print(f"{spent:8.1f} s  {name}: processor time", flush=True)

    def count(self, name: str, value: int) -> None:
        """Note a figure that is no time."""
        self.counts[name] = value
        print(f"{value:>10,}  {name}", flush=True)


def run(command: list[str], environ: Mapping[str, str], folder: Path | None = None) -> str:
    """Run a program; its standard output.

    Raises:
        SystemExit: It failed; a benchmark of something broken has no figures.
    """
    done = subprocess.run(command, env=dict(environ), cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"{' '.join(command)} ended with {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        )
    return done.stdout
