"""Environments whose CUDA libraries come from vendor archives, from nothing to an image that trains.

The publisher is on the loopback interface, and serves stand-ins in the layouts of NVIDIA's run files and tarballs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.catalog.selection import find
from envbuilder.curation.prove_archives import archives_of
from envbuilder.curation.stand_ins.imported_symbols import ImportedSymbol, wheel_imports
from envbuilder.curation.stand_ins.library import compiled, stand_in
from envbuilder.curation.stand_ins.replacement import DRIVER, DRIVER_IN_CONTAINER
from envbuilder.diagnostics.checks.results import NotProven, Passed, Tier
from envbuilder.diagnostics.checks.stand_ins import CHECKS
from envbuilder.diagnostics.validate import Validation, validate
from envbuilder.image.container_engine import ContainerEngine
from envbuilder.oci.runtime.command import RunRequest
from tests.e2e.conftest import Ended, Tool
from tests.e2e.environments import interpreter
from tests.e2e.vendor_publisher import Publisher, published
from tests.fakes.catalogs import MATRICES

PUBLISHERS = ("nvidia-developer", "nvidia-developer-download")
TRAINING = """
import numpy, tensorflow as tf
model = tf.keras.models.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
model.compile(optimizer="sgd", loss="mse")
losses = model.fit(numpy.ones((32, 3)), numpy.ones((32, 1)), epochs=3, verbose=0).history["loss"]
assert losses[-1] < losses[0], losses
print(tf.__version__, tf.test.is_built_with_cuda())
"""
"""Runs with the Keras of TensorFlow 1.4 and later."""

pytestmark = pytest.mark.xdist_group("engine")


@dataclass(frozen=True, kw_only=True)
class Place:
    """What a build of an environment needs.

    Attributes:
        row: The environment.
        publisher: Serves its archives.
        imports: CUDA functions that its TensorFlow imports.
        python: Interpreter archive.
    """

    row: str
    publisher: Publisher
    imports: tuple[ImportedSymbol, ...]
    python: Path

    def build(self, tool: Tool, *options: str, accepted: bool = True, **more: str) -> Ended:
        """Build it without an engine."""
        mapped = [word for name in PUBLISHERS for word in ("--publisher", f"{name}={self.publisher.address}")]
        license_option = ("--accept-nvidia-eula",) if accepted else ()
        arguments = ("--python-archive", self.python, *mapped, *license_option, *options)
        more["ENVBUILDER_MATRICES"] = str(self.publisher.matrices)
        return tool("build", self.row, *arguments, "--engine", "assemble", "--json", folder=None, **more)

    @property
    def driver(self) -> tuple[tuple[str, bytes], ...]:
        """The file that takes the place of the driver in a container."""
        return ((DRIVER_IN_CONTAINER, compiled(stand_in(DRIVER, self.imports), os.environ["PATH"])),)


@pytest.fixture(scope="module")
def packed_python(tool: Tool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of Python 3.6."""
    folder = tmp_path_factory.mktemp("pythons")
    done = tool("python", "pack", interpreter("3.6"), "-o", folder)
    assert done.status == 0, done.stderr
    return next(folder.glob("*.tar*"))


@pytest.fixture(scope="module", params=["tf-1.4-cuda8.0", "tf-1.7-cuda9.0"])
def place(
    request: pytest.FixtureRequest, packed_python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """A publisher for an environment."""
    row, folder = request.param, tmp_path_factory.mktemp(request.param)
    environment = find(load_catalog(MATRICES), row)
    wheel = _wheel(f"{environment.framework.package}=={environment.framework.version}", folder)
    imports = wheel_imports(wheel, folder)
    archives = [archive.id for archive in archives_of((environment,)) if archive.publisher in PUBLISHERS]
    with published(folder / "publisher", archives, imports) as publisher:
        yield Place(row=row, publisher=publisher, imports=imports, python=packed_python)


def _wheel(requirement: str, folder: Path) -> Path:
    """Download a wheel of Python 3.6."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--python-version",
         "3.6", "--platform", "manylinux1_x86_64", "--dest", str(folder), requirement],
        check=True,
    )  # fmt: skip
    return next(folder.glob("*.whl"))


def test_from_nothing_to_an_image_that_trains_and_is_validated(
    place: Place, tool: Tool, engine: ContainerEngine, tmp_path: Path
) -> None:
    tag = f"envbuilder-test/{place.row}:archives"
    refused = place.build(tool, accepted=False)
    assert refused.status != 0
    assert "--accept-nvidia-eula" in refused.stderr
    assert not place.publisher.asked

    done = place.build(tool, "--load", "-t", tag)
    assert done.status == 0, done.stderr
    [image] = done.document()["images"]

    ran = engine.run(RunRequest(image=tag, command=("python", "-c", TRAINING), files=place.driver))
    assert ran.status == 0, ran.stderr.decode()
    assert ran.stdout.decode().split()[-1] == "True"
    texts = engine.run(RunRequest(image=tag, command=("find", "/usr/share/doc/envbuilder", "-name", "EULA.txt")))
    assert len(texts.stdout.splitlines()) == place.publisher.licenses

    wanted = Validation(image=tag, tier=Tier.CPU, files=place.driver)
    report = validate(load_catalog(place.publisher.matrices), wanted, None, engine, time.monotonic)
    assert report.passed, report.failed
    outcomes = {each.id: each.outcome for each in report.results}
    assert {name for name, outcome in outcomes.items() if isinstance(outcome, NotProven)} <= CHECKS
    assert isinstance(outcomes["training-loss-falls"], Passed)
    assert "libcudart" in dict(report.facts)["stand-ins"]

    again = place.build(tool, ENVBUILDER_CACHE=str(tmp_path / "cache"))
    assert again.status == 0, again.stderr
    assert again.document()["images"][0]["manifest"] == image["manifest"]
