"""What a registry saves: a second machine, a lock without digests, and a fresh runner with one package changed."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.contract import registry
from tools.bench.measuring import Figures, run

_ROOT = Path(__file__).parents[2]
_ROW = "tf-2.15-cpu"
_SMALL = "humanize==4.9.0"


def measure_sharing(figures: Figures, work: Path) -> None:
    """Build and push once, then again on machines whose cache directories begin empty; needs no container engine."""
    with tempfile.TemporaryDirectory(dir=work) as name, registry.serve(Path(name)) as address:
        _Team(Path(name), address, figures).measure()


class _Team:
    """Machines that share a registry; each is an own cache directory."""

    def __init__(self, folder: Path, address: str, figures: Figures) -> None:
        self._folder = folder
        self._address = address
        self._figures = figures

    def measure(self) -> None:
        first = self._build("first machine, everything made", _ROW, "--cache-to", self._name("layers"), push="a:1")
        seconds, rest = self._figures.seconds["first machine, everything made"], first["pushed"][0]["seconds"]
        print(f"{rest:8.1f} s  of it after the last layer was made: {seconds / (seconds - rest):.2f}x of making alone")
        lock = next((self._folder / "first machine, everything made").glob("locks/*/envbuilder.lock"))
        self._build("second machine, same lock", str(lock), push="a:2")
        bare = self._folder / "bare.lock"
        bare.write_text(lock.read_text(encoding="utf-8").partition("image:\n")[0], encoding="utf-8")
        cached = ("--cache-from", self._name("layers"))
        self._build("lock without digests, layer cache", str(bare), *cached, push="b:1")
        self._build(
            "lock without digests, layer cache, to a layout", str(bare), *cached, "-o", str(self._folder / "out")
        )
        spec = self._folder / "envbuilder.yaml"
        spec.write_text(f'environment: "{_ROW}"\npackages:\n  - "{_SMALL}"\n', encoding="utf-8")
        runner = "fresh runner, one package added"
        self._figures.time(f"{runner}: lock", lambda: self._run(runner, "lock", str(spec), *cached))
        self._build(runner, str(spec.with_suffix(".lock")), *cached, push="a:3")

    def _build(self, machine: str, target: str, *options: str, push: str = "") -> dict[str, Any]:
        """Build on a machine, count the bytes, and return the document of the image."""
        pushed = ("--push", "--tag", self._name(push)) if push else ()
        told: list[str] = []
        arguments = ("build", target, "--engine", "assemble", "--json", *pushed, *options)
        self._figures.time(machine, lambda: told.append(self._run(machine, *arguments)))
        document = json.loads(told[0])
        self._figures.count(f"{machine}: bytes downloaded, without the base", document["downloaded_bytes"])
        image: dict[str, Any] = document["images"][0]
        if push:
            self._figures.count(f"{machine}: bytes of layers pushed", image["pushed"][0]["bytes"])
        return image

    def _run(self, machine: str, *arguments: str) -> str:
        environ = {**os.environ, "ENVBUILDER_CACHE": str(self._folder / machine)}
        return run([sys.executable, "-m", "envbuilder", *arguments], environ, _ROOT)

    def _name(self, name: str) -> str:
        return f"{self._address}/team/{name}"
