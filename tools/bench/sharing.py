"""What a registry saves: the table of docs/sharing.md, each row beside its aim.

Every machine is a cache directory of its own that begins empty. The registry runs beside them: its own work counts too.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from envbuilder.lock.lock import Lock, PackageGroup
from envbuilder.lock.lockfile import dump, load
from envbuilder.oci.store import Store
from tests.contract import registry
from tools.bench.assembling import CURL, plain_download
from tools.bench.measuring import Figures, run
from tools.bench.paced_proxy import paced_proxy

_ROOT = Path(__file__).parents[2]
_ROW = "tf-2.15-cuda12.2"
_OWN, _OWN_CHANGED = "humanize==4.8.0", "humanize==4.9.0"
_BUMPED = "idna==3.6"
"""A small package that the row needs, in another version."""

_AUTHOR, _ALONE, _FIRST, _SECOND, _RUNNER = "author", "cold build", "cold build and push", "second machine", "runner"
_PUSH = "push alone"
_LINE = 170e6
"""Bytes per second of the line at which the aim of a cold build was set: 2.44 GB in 14.4 s."""

_SLOW, _SLOW_CURL = f"cold build, {_LINE / 1e6:.0f} MB/s", f"curl, {_LINE / 1e6:.0f} MB/s"


@dataclass(frozen=True, slots=True)
class _Line:
    """One row of the table."""

    work: str
    measured: str
    aim: str


def measure_sharing(figures: Figures, work: Path, row: str = _ROW, storage: str = "") -> None:
    """Lock, build and push on several machines, and print the table; needs no container engine.

    Args:
        figures: Gets the numbers.
        work: Directory for caches and registries, removed at the end: 20 GB for the default row.
        row: The environment.
        storage: Directory for the blobs of the registries, 5 GB for the default row, such as `/dev/shm`: it takes the
            place of a registry with a disk of its own. Empty for `work`.
    """
    with (
        tempfile.TemporaryDirectory(dir=work) as name,
        tempfile.TemporaryDirectory(dir=storage or work) as blobs,
    ):
        folder = Path(name)
        for each in ("near", "other"):
            (Path(blobs) / each).mkdir()
        with registry.serve(Path(blobs) / "near") as near, registry.serve(Path(blobs) / "other") as other:
            team = _Team(folder, near, other, figures, row)
            lines = list(team.measure())
    print()
    for line in lines:
        print(f"{line.work:55} {line.measured:60} aim: {line.aim}")
    print("[…] is processor time of the command, without that of the registry")
    document = {
        "environment": row,
        "storage": storage,
        "rows": [[line.work, line.measured, line.aim] for line in lines],
    }
    path = work / "share.json"
    path.write_text(json.dumps(document | asdict(figures), indent=2) + "\n", encoding="utf-8")


class _Team:
    """Machines that share a registry."""

    def __init__(self, folder: Path, near: str, other: str, figures: Figures, row: str) -> None:
        self._folder = folder
        self._near = near
        self._other = other
        self._figures = figures
        self._row = row
        self._cache = ("--cache-from", f"{near}/team/layers")

    def measure(self) -> Iterator[_Line]:
        """Yield the rows of the table, in the order of the issue."""
        seconds = self._figures.seconds
        lock = self._locked()
        plain_download(lock, self._folder, self._figures)
        self._build(_ALONE, self._lock_file)
        self._build(_ALONE, self._lock_file, push=f"{self._other}/team/a:1", name=_PUSH)
        self._build(_FIRST, self._lock_file, "--cache-to", f"{self._near}/team/layers", push=f"{self._near}/team/a:1")
        second = self._build(_SECOND, self._lock_file, push=f"{self._near}/team/a:2")
        yield _Line(
            "second machine, same lock, to pushed",
            f"{self._took(_SECOND)}, {second['downloaded_bytes']:,} B of layers",
            "1.5 s, 0 B of layers",
        )
        yield self._changed()
        ratio = seconds[_FIRST] / max(seconds[_ALONE], seconds[_PUSH])
        yield _Line(
            "cold build and push, against the slower of the two",
            f"{ratio:.2f}x ({self._took(_FIRST)}, against {self._took(_ALONE)} and {self._took(_PUSH)})",
            "1.15x",
        )
        yield self._against("cold build against curl of the same files", _ALONE, CURL)
        yield self._slow(lock)
        yield self._bumped(lock)
        yield _Line("bytes before the first step, lazily", "not measured here: docs/images.md", "25 %")

    @property
    def _lock_file(self) -> str:
        return str(self._folder / "envbuilder.lock")

    def _locked(self) -> Lock:
        spec = self._write_spec("envbuilder", _OWN)
        self._timed("lock with all digests, nothing known before", _AUTHOR, "lock", str(spec))
        shutil.rmtree(self._folder / _AUTHOR)
        return _read(Path(self._lock_file))

    def _changed(self) -> _Line:
        """One small own package changed on a fresh runner: `lock`, then `build --push`."""
        spec = self._write_spec("envbuilder", _OWN_CHANGED)
        lock, build = "runner: lock", "runner: build and push"
        self._timed(lock, _RUNNER, "lock", str(spec), *self._cache)
        made = self._build(_RUNNER, self._lock_file, *self._cache, push=f"{self._near}/team/a:3", name=build)
        locked = _read(Path(self._lock_file))
        cache = self._folder / _RUNNER
        received = _fetched_files(locked, cache) + made["downloaded_bytes"]
        package = sum(pin.size for pin in locked.group(PackageGroup.OWN))
        pages = sum(path.stat().st_size for path in (cache / "uv").rglob("*") if path.is_file())
        self._figures.count("runner: bytes of index pages, as uv keeps them", pages)
        seconds = self._figures.seconds[lock] + self._figures.seconds[build]
        return _Line(
            "fresh runner, one small own package changed, to pushed",
            f"{seconds:.1f} s, {received / package:.2f}x its {package:,} B",
            "5 s, 1.5x and index pages",
        )

    def _slow(self, lock: Lock) -> _Line:
        """Cold build and curl, both through a slower line."""
        work = f"the same through {_LINE / 1e6:.0f} MB/s"
        if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy")):
            return _Line(work, "not measured: HTTPS_PROXY is set", "1.6x")
        with paced_proxy(_LINE) as proxy:
            environ = {**os.environ, "HTTPS_PROXY": proxy}
            plain_download(lock, self._folder, self._figures, name=_SLOW_CURL, environ=environ)
            self._timed(_SLOW, _SLOW, "build", self._lock_file, "--engine", "assemble", environ=environ)
        shutil.rmtree(self._folder / _SLOW)
        return self._against(work, _SLOW, _SLOW_CURL)

    def _against(self, work: str, build: str, curl: str) -> _Line:
        ratio = self._figures.seconds[build] / self._figures.seconds[curl]
        return _Line(work, f"{ratio:.2f}x ({self._took(build)}, against {self._took(curl)})", "1.6x")

    def _took(self, name: str) -> str:
        """Return wall time and processor time of a command; that of a registry is not in it."""
        return f"{self._figures.seconds[name]:.1f} s [{self._figures.processor[name]:.1f}]"

    def _bumped(self, lock: Lock) -> _Line:
        """Another version of a small package of the shared layer."""
        spec = self._write_spec("bumped", _BUMPED)
        self._run(_ALONE, "lock", str(spec), "--no-image")
        name = _BUMPED.partition("==")[0]
        [newer] = [pin for pin in _read(spec.with_suffix(".lock")).packages if pin.name == name]
        pins = tuple(replace(newer, group=pin.group) if pin.name == name else pin for pin in lock.packages)
        folder = self._folder / "bump"
        folder.mkdir()
        changed = folder / "envbuilder.lock"
        changed.write_text(dump(replace(lock, packages=pins, image=None)), encoding="utf-8")
        document = self._build(_ALONE, str(changed), name="small package bumped")
        steps = {step["name"]: step["seconds"] for step in document["steps"]}
        compiled = sum(taken for step, taken in steps.items() if step.startswith("bytecode"))
        return _Line(
            "small package bumped in the shared group",
            f"{compiled:.1f} s for bytecode, {self._took('small package bumped')} in all",
            "1.5 s",
        )

    def _write_spec(self, name: str, package: str) -> Path:
        spec = self._folder / f"{name}.yaml"
        spec.write_text(f'environment: "{self._row}"\npackages:\n  - "{package}"\n', encoding="utf-8")
        return spec

    def _build(self, machine: str, target: str, *options: str, push: str = "", name: str = "") -> dict[str, Any]:
        """Build on a machine, count the bytes, and return the document of the command."""
        pushed = ("--push", "--tag", push) if push else ()
        named = name or machine
        told = self._timed(named, machine, "build", target, "--engine", "assemble", "--json", *pushed, *options)
        document: dict[str, Any] = json.loads(told)
        self._figures.count(f"{named}: bytes downloaded", document["downloaded_bytes"])
        if push:
            self._figures.count(f"{named}: bytes of layers pushed", document["images"][0]["pushed"][0]["bytes"])
        return document

    def _timed(self, name: str, machine: str, *arguments: str, environ: Mapping[str, str] = os.environ) -> str:
        told: list[str] = []
        self._figures.time_command(name, lambda: told.append(self._run(machine, *arguments, environ=environ)))
        return told[0]

    def _run(self, machine: str, *arguments: str, environ: Mapping[str, str] = os.environ) -> str:
        own = {**environ, "ENVBUILDER_CACHE": str(self._folder / machine)}
        return run([sys.executable, "-m", "envbuilder", *arguments], own, _ROOT)


def _read(path: Path) -> Lock:
    return load(path.read_text(encoding="utf-8"), str(path))


def _fetched_files(lock: Lock, cache: Path) -> int:
    """Return the bytes of the files of a lock that a machine has: its cache directory was empty before."""
    store = Store(folder=cache / "store")
    of_os = (*lock.base.packages, *lock.os_packages)
    digests = {
        f"sha256:{sha256}" for sha256 in (*(pin.sha256 for pin in lock.packages), *(pin.sha256 for pin in of_os))
    }
    digests.discard("sha256:")
    return sum(store.path(digest).stat().st_size for digest in digests if store.has(digest))
