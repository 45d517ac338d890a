"""The memory hook with real TensorFlow: the configuration that it receives, and a fork that still works."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from envbuilder.core.image_layout import HOOK_FILE
from envbuilder.core.memory_policy import START, START_NAME
from envbuilder.incontainer import memory_hook

pytestmark = pytest.mark.xdist_group("tensorflow")

TWO_GPUS = """
import tensorflow as tf
from tensorflow.python.eager import context
sys.modules["envbuilder_memory"].totals = lambda: [8 << 30, 16 << 30]
made = context.context()
made._initialize_physical_devices()
gpus = [context.PhysicalDevice(name="/physical_device:GPU:%d" % index, device_type="GPU") for index in range(2)]
made._physical_devices = list(made._physical_devices) + gpus
made._visible_device_list = list(made._physical_devices)
made._memory_growth_map = dict((gpu, None) for gpu in gpus)
received = tf.Session()._config if tf.__version__.startswith("1.") else made.config
"""
TELL = """
options = received.gpu_options
print(json.dumps([options.allow_growth, options.per_process_gpu_memory_fraction,
                  [list(device.memory_limit_mb) for device in options.experimental.virtual_devices]]))
"""
FORKED = """
import tensorflow as tf
child = os.fork()
if child == 0:
    first = tf.__version__.startswith("1.")
    total = tf.Session().run(tf.constant(20) + 22) if first else int(tf.constant(20) + 22)
    os._exit(0 if total == 42 else 1)
print(json.dumps(os.waitpid(child, 0)[1]))
"""


@pytest.fixture
def hooked(python_of: Callable[[str], Path]) -> Iterator[Callable[[str], Path]]:
    """Give the interpreter of a row's TensorFlow, with the hook for as long as a test runs."""
    made: list[Path] = []

    def with_hook(row: str) -> Path:
        python = python_of(row)
        made.append(next(python.parents[1].glob("lib/python*/site-packages")) / START_NAME)
        made[-1].write_text(START.replace(f"/{HOOK_FILE}", str(memory_hook.__file__)) + "\n", encoding="utf-8")
        return python

    yield with_hook
    for start in made:
        start.unlink()


def ran(hooked: Callable[[str], Path], row: str, code: str, policy: str, **env: str) -> object:
    python = hooked(row)
    ended = subprocess.run(
        [str(python), "-W", "ignore", "-c", f"import json, os, sys\n{code}"],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "ENVBUILDER_MEMORY": policy, **env},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.parametrize("row", ["tf-1.15-cpu", "tf-2.15-cpu"])
@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("growth", [True, 0.0, []]),
        ("fraction:0.8", [False, 0.8, []]),
        ("limit:4GiB", [False, 0.0, [[4096], [4096]]]),
        ("limit:4GiB,growth", [True, 0.0, [[4096], []]]),
        ("fraction:0.5,fraction:0.25", [False, 0.0, [[4096], [4096]]]),
    ],
)
def test_tensorflow_receives_the_policy(
    hooked: Callable[[str], Path], row: str, policy: str, expected: list[object]
) -> None:
    assert ran(hooked, row, TWO_GPUS + TELL, policy) == expected


@pytest.mark.parametrize("row", ["tf-1.15-cpu", "tf-2.15-cpu"])
def test_a_fork_after_the_import_computes(hooked: Callable[[str], Path], row: str) -> None:
    assert ran(hooked, row, FORKED, "limit:4GiB") == 0


def test_own_memory_growth_wins(hooked: Callable[[str], Path]) -> None:
    own = "made.set_memory_growth(gpus[0], False); made.set_memory_growth(gpus[1], False); received = made.config\n"
    assert ran(hooked, "tf-2.15-cpu", TWO_GPUS + own + TELL, "growth") == [False, 0.0, []]
