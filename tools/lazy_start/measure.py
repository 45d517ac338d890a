"""Mount an image lazily, run a command in it, and count what is read."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.lazy_start.registry import Registry, Seen, serving

_TOC = "containerd.io/snapshot/stargz/toc.digest"
_PROGRAM = Path(__file__).with_name("mount.go")
_CHROOT = "/usr/sbin/chroot"
_USER = 1000


def build_program(folder: Path, environ: Mapping[str, str]) -> Path:
    """Compile the program that mounts layers, with the libraries of Debian; return its path."""
    place = folder / "src" / "lazy_mount" / "main.go"
    place.parent.mkdir(parents=True)
    place.write_bytes(_PROGRAM.read_bytes())
    cache = environ.get("GOCACHE", str(folder / "cache"))
    own = {"GO111MODULE": "off", "GOPATH": f"{folder}:/usr/share/gocode", "GOCACHE": cache}
    program = folder / "lazy_mount"
    subprocess.run(("go", "build", "-o", str(program), "lazy_mount"), check=True, env={**environ, **own})
    return program


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was read of an image.

    Attributes:
        status: Exit status of the command.
        size: Bytes of all layers.
        total: What was read of them.
        mounts: The part of it before the command: tables of contents, and what is prefetched.
        seconds: Time of the mounts, and of the command.
        layers: What was read of each layer, lowest first.
    """

    status: int
    size: int
    total: Seen
    mounts: Seen
    seconds: tuple[float, float]
    layers: tuple[Seen, ...]


def measured(layout: Path, command: Sequence[str], delay: float, program: Path, work: Path) -> Measured:
    """Run a command in the image of a layout, and return what was read for it.

    Args:
        layout: The image.
        command: Program and arguments.
        delay: Response time of the registry, in seconds.
        program: The program that mounts layers.
        work: Empty directory for caches and mounts.
    """
    blobs = layout / "blobs" / "sha256"
    manifest = _read(blobs, json.loads((layout / "index.json").read_bytes())["manifests"][0])
    env = dict(each.split("=", 1) for each in _read(blobs, manifest["config"])["config"]["Env"])
    layers = manifest["layers"]
    registry = Registry(blobs=blobs, delay=delay)
    with ExitStack() as stack:
        port = stack.enter_context(serving(registry))
        started = time.monotonic()
        names = [f"{layer['digest']}={layer['annotations'][_TOC]}" for layer in layers]
        stack.enter_context(_mounted((str(program), str(work), f"localhost:{port}/image:1", *names)))
        mounts, mounted = registry.seen(), time.monotonic()
        root = stack.enter_context(_root(work, len(layers)))
        entered = (_CHROOT, f"--userspec={_USER}:{_USER}", str(root), *command)
        status = subprocess.run(entered, env=env, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False).returncode
        ended, seen = time.monotonic(), registry.seen()
    return Measured(
        status=status,
        size=sum(layer["size"] for layer in layers),
        total=_sum(seen),
        mounts=_sum(mounts),
        seconds=(mounted - started, ended - mounted),
        layers=tuple(seen.get(layer["digest"], Seen()) for layer in layers),
    )


def _sum(seen: Mapping[str, Seen]) -> Seen:
    return Seen(requests=sum(each.requests for each in seen.values()), sent=sum(each.sent for each in seen.values()))


def _read(blobs: Path, descriptor: Mapping[str, str]) -> Any:  # noqa: ANN401  documents of any shape
    return json.loads((blobs / descriptor["digest"].removeprefix("sha256:")).read_bytes())


@contextmanager
def _mounted(command: Sequence[str]) -> Iterator[None]:
    """Mount layers while the block runs."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin  # noqa: S101  for the type checker
        assert process.stdout  # noqa: S101
        if process.stdout.readline() != b"mounted\n":
            raise SystemExit("the layers were not mounted")
        try:
            yield
        finally:
            process.stdin.close()
            process.wait()


@contextmanager
def _root(work: Path, layers: int) -> Iterator[Path]:
    """Yield a writable root above the mounted layers."""
    root, upper, scratch = (work / name for name in ("root", "upper", "overlay"))
    for folder in (root, upper, scratch):
        folder.mkdir()
    lower = ":".join(str(work / "mounts" / str(number)) for number in reversed(range(layers)))
    mounts = [
        ("-t", "overlay", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={scratch}", str(root)),
        ("-t", "proc", "proc", str(root / "proc")),
        ("--bind", "/dev", str(root / "dev")),
        ("-t", "tmpfs", "-o", "mode=1777", "tmpfs", str(root / "tmp")),
    ]
    with ExitStack() as stack:
        for arguments in mounts:
            subprocess.run(("mount", *arguments), check=True)
            stack.callback(subprocess.run, ("umount", "-l", arguments[-1]), check=True)
        yield root
