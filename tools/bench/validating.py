"""What validating costs, against what importing TensorFlow and one training step cost by themselves."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tools.bench.measuring import Figures, run

_ENVBUILDER = str(Path(sys.executable).parent / "envbuilder")
_ROW = "tf-2.15-cpu"
_TAG = "envbuilder-bench:validate"
_ROUNDS = 5
_BY_ITSELF = """
import numpy, tensorflow as tf
layers = tf.keras.layers
model = tf.keras.models.Sequential([layers.Dense(8, activation="relu", input_shape=(4,)), layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.train_on_batch(numpy.zeros((64, 4), "float32"), numpy.zeros((64, 1), "float32"))
"""


def measure_validation(figures: Figures) -> None:
    """Validate an image in the engine five times, and as often import and train one step in a container of it."""
    run([_ENVBUILDER, "build", _ROW, "--engine", "assemble", "-t", _TAG, "--load"], os.environ)
    run(["docker", "run", "--rm", _TAG, "python", "-c", _BY_ITSELF], os.environ)
    for _ in range(_ROUNDS):
        _time(figures, "validate", [_ENVBUILDER, "validate", _TAG, "--tier", "cpu", "--require", "cpu"])
        _time(
            figures,
            "import and one step by themselves",
            ["docker", "run", "--rm", "--network", "none", _TAG, "python", "-c", _BY_ITSELF],
        )
    ratio = figures.seconds["validate"] / figures.seconds["import and one step by themselves"]
    print(f"    {ratio:.2f}    validate / import and one step (fastest of {_ROUNDS} each; aim: 1.5 or less)")


def _time(figures: Figures, name: str, command: list[str]) -> None:
    before = figures.seconds.get(name)
    figures.time(name, lambda: run(command, os.environ))
    if before is not None:
        figures.seconds[name] = min(before, figures.seconds[name])
