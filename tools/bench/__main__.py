"""`make bench [BENCH=ENV|catalog|validate|logs|share|fleet|fan-out]`: builds, compared with others.

Cold, unchanged, and with a package added, against:

(a) a Dockerfile with plain `pip install` of the same versions in the classic builder, on the same base;
(b) `uv pip install` of the same lock outside any container, with an empty cache.

`catalog` measures only the loading of the catalog and the audit of a wheel, `validate` only what validating costs,
`logs` only how fast logs are read, `share` only what a registry with layers saves, `fleet` only how long a thousand
nodes are judged, `fan-out` only how much faster several workers prove environments. `python -m tools.bench share
[ENV [DIR]]` keeps the blobs of the registries below another directory, such as `/dev/shm`.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

from envbuilder.core.references import ImageRef
from envbuilder.image.builds import Builder, BuildRequest, BuildResult
from envbuilder.image.container_engine import ContainerEngine
from envbuilder.image.docker.engine import connect
from envbuilder.image.dockerfile.build_context import requirements
from envbuilder.lock.lock import Lock, PackageGroup
from envbuilder.lock.lockfile import load
from tests.contract import registry
from tools.bench.assembling import measure_assembling
from tools.bench.catalog import measure_catalog
from tools.bench.fan_out import measure_fan_out
from tools.bench.fleet import measure_fleet
from tools.bench.logs import measure_logs
from tools.bench.measuring import Figures, run
from tools.bench.sharing import measure_sharing
from tools.bench.validating import measure_validation

ROOT = Path(__file__).parents[2]
ENVBUILDER = str(Path(sys.executable).parent / "envbuilder")
UV = str(Path(sys.executable).parent / "uv")
TAGS = "envbuilder-bench"
SMALL = "humanize==4.9.0"
CACHE_ID = "envbuilder-uv"


def main() -> None:
    """Measure one environment and write `.bench/<environment>.json`."""
    environment = sys.argv[1] if len(sys.argv) > 1 else "tf-2.15-cuda12.2"
    figures = Figures()
    work = ROOT / ".bench"
    work.mkdir(exist_ok=True)
    if environment == "logs":
        measure_logs(figures, work)
        return
    if environment == "share":
        measure_sharing(figures, work, *sys.argv[2:4])
        return
    if environment == "fan-out":
        measure_fan_out(figures, work, *sys.argv[2:3])
        return
    if environment == "fleet":
        measure_fleet(figures, work)
        return
    # First, so that the peak memory is that of the audit.
    measure_catalog(figures, work)
    if environment == "catalog":
        return
    if environment == "validate":
        measure_validation(figures)
        return
    engine = connect(os.environ)
    print(f"{environment} on {platform.platform()}, {os.cpu_count()} cores, Docker {engine.info().version}")
    with tempfile.TemporaryDirectory(dir=work) as name:
        folder = Path(name)
        lock = _lock(environment, folder)
        with registry.serve(folder) as address:
            measure_assembling(lock, folder, address, figures)
            _ours(engine, folder, address, figures)
        measure_validation(figures)
        _uv_outside(lock, folder, figures)
        _pip_classic(engine, lock, folder, figures)
    _start_up(figures)
    _tell(environment, figures, work / f"{environment}.json")


def _lock(environment: str, folder: Path) -> Lock:
    run([ENVBUILDER, "base", "bootstrap", "bookworm"], os.environ, folder)
    run([ENVBUILDER, "init", environment], os.environ, folder)
    run([ENVBUILDER, "lock"], os.environ, folder)
    # The base is there before the clock starts, for everybody.
    run([ENVBUILDER, "build", "--engine", "docker", "--tag", f"{TAGS}:warm"], os.environ, folder)
    return load((folder / "envbuilder.lock").read_text(encoding="utf-8"), "envbuilder.lock")


def _ours(engine: ContainerEngine, folder: Path, address: str, figures: Figures) -> None:
    rendered = folder / "rendered"
    run([ENVBUILDER, "render", str(folder), "-o", str(rendered), "--host-settings"], os.environ)
    dockerfile = rendered / "Dockerfile"
    cold = f"{CACHE_ID}-{folder.name}"
    text = dockerfile.read_text(encoding="utf-8").replace(f"id={CACHE_ID},", f"id={cold},")
    dockerfile.write_text(text, encoding="utf-8")
    request = BuildRequest(folder=rendered, tags=(f"{TAGS}:cold",), builder=Builder.BUILDKIT, use_cache=False)
    built: list[BuildResult] = []
    figures.time("envbuilder, cold", lambda: built.append(engine.build(request, lambda _: None)))
    for step in built[0].steps:
        if step.seconds >= 1:
            print(f"             {step.seconds:6.1f} s  {' '.join(step.name.split())[:60]}")
    figures.count("image bytes, uncompressed", built[0].image.size)

    before, after = f"{address}/bench:before", f"{address}/bench:after"
    _build(folder, before)
    figures.time("envbuilder, nothing changed", lambda: _build(folder, before))
    engine.push(ImageRef.parse(before), lambda _: None)
    spec = folder / "envbuilder.yaml"
    spec.write_text(
        spec.read_text(encoding="utf-8").replace("packages: []", f'packages: ["{SMALL}"]'), encoding="utf-8"
    )
    figures.time("envbuilder lock, one package added", lambda: _lock_again(folder))
    figures.time("envbuilder, one package added: build", lambda: _build(folder, after))
    figures.time("envbuilder, one package added: push", lambda: _push(engine, after, figures))


def _build(folder: Path, tag: str) -> None:
    run([ENVBUILDER, "build", "--engine", "docker", "--tag", tag], os.environ, folder)


def _lock_again(folder: Path) -> None:
    run([ENVBUILDER, "lock", "--no-image"], os.environ, folder)


def _push(engine: ContainerEngine, tag: str, figures: Figures) -> None:
    pushed = engine.push(ImageRef.parse(tag), lambda _: None)
    figures.count("bytes pushed for one package", pushed.pushed_bytes)


def _uv_outside(lock: Lock, folder: Path, figures: Figures) -> None:
    """The same files by the fastest installer, with nothing around it; then its bytecode, which our image has too."""
    pins = [pin for pin in lock.packages if pin.group.is_installed and pin.group is not PackageGroup.OWN]
    (folder / "all.txt").write_text(requirements(pins), encoding="utf-8")
    major, minor = lock.python.version.head(2)
    for name, options in (("uv outside a container", []), ("uv outside, with bytecode", ["--compile-bytecode"])):
        venv, cache = folder / "venv", folder / "cache"
        environ = {**os.environ, "UV_CACHE_DIR": str(cache)}
        run([UV, "venv", "--quiet", "--python", f"{major}.{minor}", str(venv)], environ)
        command = [UV, "pip", "install", "--quiet", "--python", str(venv), "--no-deps", "--require-hashes", *options]
        figures.time(name, lambda: _run_quietly([*command, "--requirements", str(folder / "all.txt")], environ))  # noqa: B023  called at once
        shutil.rmtree(venv)
        shutil.rmtree(cache)


def _run_quietly(command: list[str], environ: dict[str, str]) -> None:
    run(command, environ)


def _pip_classic(engine: ContainerEngine, lock: Lock, folder: Path, figures: Figures) -> None:
    """What people write: one `pip install` in a Dockerfile, in the builder without BuildKit."""
    context = folder / "pip"
    context.mkdir()
    run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(context), "pip"], os.environ)
    wheel = next(context.glob("pip-*.whl"))
    pins = [pin for pin in lock.packages if pin.group.is_installed and pin.group is not PackageGroup.OWN]
    listing = "".join(f"{pin.name}=={pin.version}\n" for pin in pins)
    (context / "requirements.txt").write_text(listing, encoding="utf-8")
    bundle = os.environ.get("SSL_CERT_FILE") or "/etc/ssl/certs/ca-certificates.crt"
    shutil.copyfile(bundle, context / "ca.pem")
    base = f"envbuilder/base:{lock.base.id}-{lock.base.digest.removeprefix('sha256:')[:12]}"
    text = (
        f"FROM {base}\nCOPY . /tmp/context\n"
        f"RUN PIP_CERT=/tmp/context/ca.pem python3 /tmp/context/{wheel.name}/pip install --no-cache-dir --quiet "
        "--break-system-packages -r /tmp/context/requirements.txt\n"
    )
    (context / "Dockerfile.classic").write_text(text, encoding="utf-8")
    request = BuildRequest(folder=context, tags=(f"{TAGS}:pip",), builder=Builder.CLASSIC, use_cache=False)
    figures.time("pip in a Dockerfile, classic builder", lambda: _ignore(engine.build(request, lambda _: None)))


def _ignore(_: object) -> None:
    """A result that is not measured."""


def _start_up(figures: Figures) -> None:
    import_click = [sys.executable, "-c", "import click"]
    for name, command in (
        ("python -c 'import click', 20 times", import_click),
        ("envbuilder --help, 20 times", [ENVBUILDER, "--help"]),
        ("envbuilder list, 20 times", [ENVBUILDER, "list"]),
    ):
        figures.time(name, functools.partial(_repeat, command))


def _repeat(command: list[str]) -> None:
    for _ in range(20):
        run(command, os.environ)


def _tell(environment: str, figures: Figures, path: Path) -> None:
    seconds = figures.seconds
    cold = seconds["envbuilder, cold"]
    assembled = seconds["assemble, cold, digests in the lock"]
    unknown = seconds["assemble, cold, digests not known"]
    pip = seconds["pip in a Dockerfile, classic builder"]
    plain = seconds["curl, the same files, 6 at a time"]
    ratios = {
        "pip in a Dockerfile / assemble, cold, digests known (aim: 8 or more)": pip / assembled,
        "pip in a Dockerfile / assemble, cold, digests not known": pip / unknown,
        "assemble, cold, digests known / curl (aim: 1.5 or less, plus the base)": assembled / plain,
        "assemble, cold, digests not known / curl": unknown / plain,
        "docker engine, cold / assemble, cold, digests known": cold / assembled,
        "pip in a Dockerfile / envbuilder, cold (aim: 3 or more)": seconds["pip in a Dockerfile, classic builder"]
        / cold,
        "envbuilder, cold / uv outside with bytecode (aim: 1.5 or less)": cold / seconds["uv outside, with bytecode"],
        "envbuilder, cold / uv outside without bytecode": cold / seconds["uv outside a container"],
        "envbuilder --help / import click (aim: 2 or less)": seconds["envbuilder --help, 20 times"]
        / seconds["python -c 'import click', 20 times"],
    }
    print()
    for name, ratio in ratios.items():
        print(f"{ratio:8.2f}    {name}")
    document = {"environment": environment, "seconds": seconds, "counts": figures.counts, "ratios": ratios}
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(f"\nwrote {path.relative_to(ROOT)}; remove the images with `docker image rm` ({TAGS}:*)")


if __name__ == "__main__":
    main()
