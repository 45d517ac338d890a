"""Recommend environments, and diagnose logs."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from envbuilder.catalog.advise import recommend
from envbuilder.catalog.advise.advice import Recommendation
from envbuilder.catalog.advise.conditions import Conditions, query_of
from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.load.api_names import load_api
from envbuilder.core.files import open_regular
from envbuilder.diagnostics.logs import diagnosis
from envbuilder.diagnostics.logs.context_sources import context_of, context_of_lock
from envbuilder.diagnostics.logs.signatures import load_failures
from envbuilder.diagnostics.probe.decoding import decode
from envbuilder.lock.lock import Lock
from envbuilder.wiring.catalogs import known_catalog
from envbuilder.wiring.inventory import inventory
from envbuilder.wiring.machines import machines
from envbuilder.wiring.settings import settings


def catalog() -> Catalog:
    """Return the catalog: environments, bases, drivers and GPUs.

    Raises:
        InvalidInput: `ENVBUILDER_MATRICES` names a catalog with faults.

    Example:
        >>> [row.id for row in catalog().environments if str(row.framework.version) == "2.4.4"]
        ['tf-2.4-cuda11.0', 'tf-2.4-cpu']
    """
    return known_catalog(settings())


def advise(  # noqa: PLR0913  one for each condition
    *,
    tensorflow: str | None = None,
    python: str | None = None,
    keras: str | None = None,
    cuda: str | None = None,
    cudnn: str | None = None,
    driver: str | None = None,
    gpus: Sequence[str] = (),
    facts: Sequence[Path] = (),
    glibc: str | None = None,
    base: str = "",
    cpu: bool = False,
) -> Recommendation:
    """Recommend environments that meet all conditions, best first; without a condition, all of them.

    Args:
        tensorflow: Releases, such as `2.4` (any 2.4.x), `2.4.1` or `>=2.4,<2.6`; `keras`, `cuda` and `cudnn` likewise.
        python: Interpreter, such as `3.8`.
        keras: Releases of standalone Keras.
        cuda: Releases of the CUDA libraries.
        cudnn: Releases of cuDNN.
        driver: Driver of the machine.
        gpus: GPUs that must all run, by name or compute capability.
        facts: Files with facts of machines that must all run it.
        glibc: C library of a system where the wheel is to run without a container.
        base: Id of a base.
        cpu: Only environments without a GPU.

    Returns:
        `fitting` is empty if no environment meets the conditions; `nearest` then says what to change.

    Raises:
        UsageError: A condition cannot be read.

    Example:
        >>> advise(tensorflow="2.15", gpus=["K80"]).nearest[0].environment
        'tf-2.14-cuda11.8'
        >>> advise(tensorflow="two")
        Traceback (most recent call last):
        envbuilder.core.errors.UsageError: 'two' is not a version range of TensorFlow
    """
    here = settings()
    rows = known_catalog(here)
    conditions = Conditions(
        tensorflow=tensorflow,
        python=python,
        keras=keras,
        cuda=cuda,
        cudnn=cudnn,
        driver=driver,
        gpus=tuple(gpus),
        hosts=tuple(facts),
        glibc=glibc,
        base=base,
        cpu=cpu,
    )
    hosts = machines(rows, conditions.driver, conditions.gpus, conditions.hosts)
    return recommend.advise(rows, query_of(rows, conditions, hosts, inventory(here, rows)))


def diagnose(
    log: str | bytes | Path, *, facts: str | bytes | None = None, lock: Lock | None = None
) -> diagnosis.Diagnosis:
    """Find the causes of a failure in a log, with the lines that prove them and the remedies.

    Args:
        log: The log, or the path of its file, which may have any size.
        facts: Output of the probe on the machine of the failed run.
        lock: Lock of the image of the failed run.

    Returns:
        `causes`, most likely first; empty if no known failure shows in the log.

    Raises:
        InvalidInput: `facts` is not a document of the probe.

    Example:
        >>> found = diagnose("Could not load dynamic library 'libcudnn.so.8'; dlerror: cannot open shared object file")
        >>> found.causes[0].finding.id, found.causes[0].lines
        ('cudnn-missing', (1,))
    """
    here = settings()
    rows = known_catalog(here)
    seen = None if facts is None else decode(facts, "facts")
    known = context_of(seen, context_of_lock(lock) if lock else None)
    text = log.encode("utf-8", "surrogateescape") if isinstance(log, str) else log
    with open_regular(text) if isinstance(text, Path) else nullcontext(io.BytesIO(text)) as stream:
        return diagnosis.diagnose(
            rows,
            load_failures(here.matrices),
            stream.read,
            known,
            api=partial(load_api, here.matrices),
            inventory=partial(inventory, here, rows),
        )
