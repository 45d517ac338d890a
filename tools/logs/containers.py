"""Jobs in containers, on an engine without the NVIDIA container toolkit.

They run in images that this tool made before (`envbuilder build tf-2.15-cpu`, `envbuilder base bootstrap bullseye`).
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tools.logs.bench import Bench, interpreter_of
from tools.logs.no_gpu import DEMAND_2
from tools.logs.recipes import log

_TAG = "team/train:7"
_TRAINING = "envbuilder/tf-2.15-cpu"
_OLD = "envbuilder/base:debian-bullseye-"


@contextmanager
def _image(bench: Bench, name: str) -> Iterator[str]:
    """A tag of its own for an image that is here."""
    listed = subprocess.run(
        ["docker", "images", "--format", "{{.Repository}}:{{.Tag}}"], capture_output=True, text=True, check=True
    ).stdout.split()  # fmt: skip
    found = next((each for each in sorted(listed) if each.startswith(name)), None)
    if found is None:
        raise SystemExit(f"no image {name}* in the engine: envbuilder build, or envbuilder base bootstrap")
    subprocess.run(["docker", "tag", found, _TAG], check=True)
    bench.typed.append(f"docker tag {found} {_TAG}")
    try:
        yield _TAG
    finally:
        subprocess.run(["docker", "rmi", _TAG], check=False, capture_output=True)


def _train(bench: Bench, options: str, command: str = "python train.py") -> None:
    with _image(bench, _TRAINING) as image:
        bench.run(f'docker run --rm {options} {image} {command}; echo "status $?"', prompt=True)


@log("container-toolkit-missing", "gpus-all")
def _(bench: Bench) -> None:
    _train(bench, "--gpus all")


@log("container-toolkit-missing", "runtime-nvidia")
def _(bench: Bench) -> None:
    _train(bench, "--runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all")


@log("container-toolkit-missing", "cdi")
def _(bench: Bench) -> None:
    _train(bench, "--device nvidia.com/gpu=all", "nvidia-smi")


@log("no-driver-or-gpu-not-passed", "container")
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow==2.4.4", "protobuf<3.21")
    bench.write("train.py", DEMAND_2)
    with _image(bench, _TRAINING) as image:
        bench.run(f"docker run --rm --user 0 {_mounts(bench, '3.8')} {image} venv/bin/python train.py", prompt=True)


def _mounts(bench: Bench, version: str) -> str:
    """The environment of the bench, seen at the same place inside."""
    home = interpreter_of(version).parent.parent
    return f"-v {home}:{home}:ro -v {bench.folder}:{bench.folder} -w {bench.folder}"


@log("host-oom", "container-killed")
def _(bench: Bench) -> None:
    text = ("import numpy as np\nimport tensorflow as tf\n\n"
            "print('loading with TensorFlow', tf.__version__, flush=True)\n"
            "parts = [np.ones((1000, 224, 224, 3), 'float32') for _ in range(8)]\n")  # fmt: skip
    bench.write("train.py", text)
    bench.folder.chmod(0o755)
    with _image(bench, _TRAINING) as image:
        options = f"--name train -m 600m --memory-swap 600m -v {bench.folder}:/work -w /work"
        bench.run(f'docker run {options} {image} python train.py; echo "exit status $?"', prompt=True)
        state = "OOMKilled={{.State.OOMKilled}} ExitCode={{.State.ExitCode}}"
        bench.run(f"docker inspect train --format '{state}'", prompt=True)
        subprocess.run(["docker", "rm", "train"], check=True, capture_output=True)


@log("glibc-too-old", "host-environment")
def _(bench: Bench) -> None:
    bench.install("3.8", "tensorflow-cpu==2.4.4", "protobuf<3.21")
    bench.write("train.py", DEMAND_2)
    with _image(bench, _OLD) as image:
        bench.run(f"docker run --rm --user 0 {_mounts(bench, '3.8')} {image} venv/bin/python train.py", prompt=True)
