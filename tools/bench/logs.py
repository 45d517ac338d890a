"""How fast logs are read, and in how much memory: the project's own logs over and over, and lines that never repeat."""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from tools.bench.measuring import Figures

ROOT = Path(__file__).parents[2]
ENVBUILDER = str(Path(sys.executable).parent / "envbuilder")
SIZE = 1 << 30
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def measure_logs(figures: Figures, work: Path) -> None:
    """Diagnose logs of 1 GiB."""
    for name, lines in (
        ("own logs between lines of training", _real),
        ("lines with ids", _ids),
        ("random words, no two lines alike", _random),
    ):
        with tempfile.TemporaryDirectory(dir=work) as folder:
            log = Path(folder) / "big.log"
            _write(log, lines)
            _measure(figures, name, log)


def _write(log: Path, lines: Callable[[], Iterator[bytes]]) -> None:
    with log.open("wb") as stream:
        written = 0
        for line in lines():
            written += stream.write(line)
            if written >= SIZE:
                return


def _real() -> Iterator[bytes]:
    """Real messages, one case after the other, each followed by an epoch of progress."""
    cases = sorted((ROOT / "tests" / "cases" / "logs").glob("*.yaml"))
    logs = [yaml.safe_load(case.read_text(encoding="utf-8"))["log"].encode() + b"\n" for case in cases]
    step = 0
    while True:
        for log in logs:
            yield log
            for _ in range(200):
                step += 1
                yield b"%5d/60000 [====>......] - ETA: %ds - loss: %.4f - acc: 0.%04d\n" % (
                    step % 60000,
                    step % 977,
                    1000 / (step + 1),
                    step % 9973,
                )


def _ids() -> Iterator[bytes]:
    """A server's lines, each with ids of its own."""
    source = random.Random(2)  # noqa: S311  no secret
    step = 0
    while True:
        step += 1
        yield b"2024-05-%02d 12:%02d:%02d INFO worker[%d] request %032x user%d GET /api/items/%x 200 in %dms\n" % (
            step % 28 + 1,
            step // 60 % 60,
            step % 60,
            step % 64,
            source.getrandbits(128),
            step % 9999,
            source.getrandbits(64),
            step % 999,
        )


def _random() -> Iterator[bytes]:
    """The worst case: nothing that was seen before helps."""
    source = random.Random(1)  # noqa: S311  no secret
    while True:
        words = ["".join(source.choices(_LETTERS, k=source.randint(3, 12))) for _ in range(4000)]
        for _ in range(2000):
            yield " ".join(source.choices(words, k=12)).encode() + b"\n"


def _measure(figures: Figures, name: str, log: Path) -> None:
    started = time.monotonic()
    child = os.posix_spawn(
        ENVBUILDER,
        [ENVBUILDER, "diagnose", str(log), "--json"],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, used = os.wait4(child, 0)
    seconds = time.monotonic() - started
    if status:
        raise SystemExit(f"diagnose ended with {os.waitstatus_to_exitcode(status)}")
    figures.seconds[f"diagnose, {name}"] = seconds
    print(f"{seconds:8.1f} s  diagnose 1 GiB, {name}: {SIZE / seconds / 1e6:.0f} MB/s", flush=True)
    figures.count("peak memory of diagnose, kilobytes", used.ru_maxrss)
