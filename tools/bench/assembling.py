"""The engine `assemble` against the others, in the same run: cold, warm, one added package, many environments."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from envbuilder.core.uv import Uv
from envbuilder.lock.index.uv_index import UvIndex
from envbuilder.lock.lock import Lock, PackageGroup
from tools.bench.measuring import Figures

ENVBUILDER = str(Path(sys.executable).parent / "envbuilder")
UV = Path(sys.executable).parent / "uv"
MANY = (
    "tf-2.12-cpu",
    "tf-2.13-cpu",
    "tf-2.14-cpu",
    "tf-2.15-cpu",
    "tf-2.16-cpu",
    "tf-2.17-cpu",
    "tf-2.18-cpu",
    "tf-2.19-cpu",
)
CURL = "curl, the same files, 6 at a time"
SMALL = "humanize==4.9.0"
_CONNECTIONS = 6


def measure_assembling(lock: Lock, folder: Path, address: str, figures: Figures) -> None:
    """Everything about one environment, then several.

    Args:
        lock: The lock of the environment, which is in the folder with its spec.
        folder: Has `envbuilder.yaml` and `envbuilder.lock`.
        address: `host:port` of a registry.
        figures: Gets the numbers.
    """
    plain_download(lock, folder, figures)
    _cold(folder, figures)
    _warm(folder, figures)
    _added(folder, address, figures)
    _many(folder, figures)


def plain_download(
    lock: Lock, folder: Path, figures: Figures, *, name: str = CURL, environ: Mapping[str, str] = os.environ
) -> None:
    """Download the same files by curl, six at a time, to disk, with nothing compared."""
    pins = [pin for pin in lock.packages if pin.group.is_installed and pin.group is not PackageGroup.OWN]
    index = UvIndex(uv=Uv(program=UV, cache=folder / "uv-index", environ=os.environ))
    addresses = [file.url for file in index.locate(pins, lock.python.version.series)]
    target = folder / "plain"
    target.mkdir()
    listing = folder / "urls"
    listing.write_text("".join(f"url={address}\nremote-name\n" for address in addresses), encoding="utf-8")
    command = ["curl", "--silent", "--show-error", "--fail", "--parallel", "--parallel-max", str(_CONNECTIONS)]
    figures.time_command(name, lambda: _run([*command, "--config", str(listing)], dict(environ), target, figures, ""))
    shutil.rmtree(target)


def _cold(folder: Path, figures: Figures) -> None:
    """Nothing there: base, files and layers. Once as a row is built first, once with a lock that knows its image."""
    for name, keep_image in (
        ("assemble, cold, digests not known", False),
        ("assemble, cold, digests in the lock", True),
    ):
        cache = folder / "cache-cold"
        shutil.rmtree(cache, ignore_errors=True)
        place = folder / "cold"
        place.mkdir(exist_ok=True)
        text = (folder / "envbuilder.lock").read_text(encoding="utf-8")
        (place / "envbuilder.lock").write_text(text if keep_image else text.partition("image:\n")[0], encoding="utf-8")
        _seed(cache)
        figures.time(name, lambda: _build(place, cache, figures, f"{name}: peak memory"))  # noqa: B023  called at once


def _warm(folder: Path, figures: Figures) -> None:
    """The cache of the last cold run: without its layers, then with everything."""
    place, cache = folder / "cold", folder / "cache-cold"
    blobs = _build(place, cache, figures, "")
    for layer in blobs["images"][0]["layers"]:  # type: ignore[index]
        name = layer["digest"].removeprefix("sha256:")
        (cache / "store" / "sha256" / name[:2] / name[2:]).unlink()
    figures.time("assemble, files there, digests in the lock", lambda: _build(place, cache, figures, ""))
    figures.time("assemble, nothing changed", lambda: _build(place, cache, figures, ""))
    figures.time(
        "assemble, load into Docker, all of it",
        lambda: _build(place, cache, figures, "", "--load", "-t", "envbuilder-bench:assembled"),
    )


def _added(folder: Path, address: str, figures: Figures) -> None:
    cache, place = folder / "cache-cold", folder / "cold"
    shutil.copyfile(folder / "envbuilder.yaml", place / "envbuilder.yaml")
    shutil.copyfile(folder / "envbuilder.lock", place / "envbuilder.lock")
    _build(place, cache, figures, "", "--push", "-t", f"{address}/assembled:before")
    spec = place / "envbuilder.yaml"
    text = spec.read_text(encoding="utf-8")
    spec.write_text(text.replace("packages: []", f'packages: ["{SMALL}"]'), encoding="utf-8")
    figures.time("assemble, one package added: lock", lambda: _envbuilder(["lock"], place, cache))
    pushed: list[dict[str, object]] = []
    figures.time(
        "assemble, one package added: build and push",
        lambda: pushed.append(_build(place, cache, figures, "", "--push", "-t", f"{address}/assembled:after")),
    )
    figures.count("assemble, bytes pushed for one package", pushed[0]["images"][0]["pushed"][0]["bytes"])  # type: ignore[index]
    loaded: list[dict[str, object]] = []
    figures.time(
        "assemble, one package added: load",
        lambda: loaded.append(_build(place, cache, figures, "", "--load", "-t", "envbuilder-bench:added")),
    )
    figures.count("assemble, bytes loaded for one package", loaded[0]["images"][0]["loaded"]["bytes"])  # type: ignore[index]
    shutil.rmtree(cache)


def _many(folder: Path, figures: Figures) -> None:
    for count in (1, 2, 4, 8):
        _several(count, folder, figures)


def _several(count: int, folder: Path, figures: Figures) -> None:
    cache = folder / f"cache-{count}"
    _seed(cache)
    built: list[dict[str, object]] = []
    memory = f"{count} environments: peak memory"
    figures.time(
        f"assemble, {count} environments, cold",
        lambda: built.append(_build(folder / "cold", cache, figures, memory, *MANY[:count])),
    )
    figures.count(f"{count} environments: distinct bytes", int(str(built[0]["distinct_bytes"])))
    shutil.rmtree(cache)


def _seed(cache: Path) -> None:
    """Interpreter archives that this machine has: they are no downloads for anybody."""
    known = Path(os.environ.get("ENVBUILDER_CACHE") or Path.home() / ".cache" / "envbuilder") / "files"
    cache.mkdir(parents=True, exist_ok=True)
    if known.is_dir():
        shutil.copytree(known, cache / "files")


def _build(place: Path, cache: Path, figures: Figures, memory: str, *options: str) -> dict[str, object]:
    targets = [] if any(option.startswith("tf-") for option in options) else ["envbuilder.lock"]
    output = _envbuilder(["build", *targets, "--engine", "assemble", "--json", *options], place, cache, figures, memory)
    document: dict[str, object] = json.loads(output)
    return document


def _envbuilder(
    arguments: list[str], place: Path, cache: Path, figures: Figures | None = None, memory: str = ""
) -> str:
    environ = {**os.environ, "ENVBUILDER_CACHE": str(cache)}
    return _run([ENVBUILDER, *arguments], environ, place, figures, memory)


def _run(command: list[str], environ: dict[str, str], place: Path, figures: Figures | None, memory: str) -> str:
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, cwd=place, env=environ, stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            sys.exit(f"{' '.join(command)} ended with status {process.returncode}:\n{errors.read()[-2000:]}")
        if memory and figures:
            figures.count(f"{memory}, bytes", usage.ru_maxrss * 1024)
        output.seek(0)
        return output.read()
