"""Logs for tests, and what is made of them."""

from __future__ import annotations

import io
from functools import cache

from envbuilder.catalog.api_names import ApiMap
from envbuilder.catalog.buildable import Inventory
from envbuilder.catalog.load.api_names import load_api
from envbuilder.diagnostics.logs.context import LogContext
from envbuilder.diagnostics.logs.diagnosis import Diagnosis, diagnose
from envbuilder.diagnostics.logs.evidence import Evidence
from envbuilder.diagnostics.logs.scanner import scan
from envbuilder.diagnostics.logs.signatures import Failures, load_failures
from tests.fakes.catalogs import MATRICES, real_catalog

OOM = "ResourceExhaustedError: OOM when allocating tensor with shape[8,64] on device:GPU:0 by allocator GPU_0_bfc"
CUDNN_MISSING = "W dso_loader.cc:64] Could not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: not found"


@cache
def failures() -> Failures:
    return load_failures(MATRICES)


@cache
def api() -> ApiMap:
    return load_api(MATRICES)


def read(log: str | bytes) -> Evidence:
    data = log.encode() if isinstance(log, str) else log
    return scan(failures(), io.BytesIO(data).read)


def judged(log: str | bytes, known: LogContext | None = None, inventory: Inventory | None = None) -> Diagnosis:
    data = log.encode() if isinstance(log, str) else log
    return diagnose(real_catalog(), failures(), io.BytesIO(data).read, known, api=api, inventory=lambda: inventory)


def classes(log: str | bytes) -> tuple[str, ...]:
    return tuple(cause.finding.id for cause in judged(log).causes)
