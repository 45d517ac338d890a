"""`doctor` and `advise` judge rows each for their own answer; about the same machine they say the same."""

from __future__ import annotations

import pytest

from envbuilder.examining.rows import judge_rows
from envbuilder.model.advice import Verdict
from envbuilder.model.examinations import Fit
from envbuilder.model.hosts import Host, HostGpu
from envbuilder.model.versions import Release
from envbuilder.workflows.advise import fitting_rows
from tests.fakes.catalogs import real_catalog

MEANS = {
    Fit.RUNS: {Verdict.FITS},
    Fit.JIT: {Verdict.COST},
    Fit.UNPROVEN: {Verdict.COST},
    Fit.CPU_ONLY: {Verdict.FITS, Verdict.COST},
    Fit.NO: {Verdict.NOT},
}


def host(driver: str, gpu: str, capability: str) -> Host:
    gpus = (HostGpu(name=gpu, capability=Release(capability), memory=16 << 30),) if gpu else ()
    return Host(
        name="host",
        driver=Release(driver) if driver else None,
        gpus=gpus,
        machine="x86_64",
        glibc=Release("2.31"),
        avx=True,
        fma=True,
    )


@pytest.mark.parametrize(
    ("driver", "gpu", "capability"),
    [
        ("", "", ""),
        ("384.81", "Tesla M60", "5.2"),
        ("390.48", "GeForce GTX 1080", "6.1"),
        ("450.51.06", "Tesla K80", "3.7"),
        ("470.199.02", "Tesla K80", "3.7"),
        ("450.80.02", "Tesla V100", "7.0"),
        ("535.54.03", "Tesla V100", "7.0"),
        ("455.23", "GeForce RTX 3090", "8.6"),
        ("525.60.13", "GeForce RTX 3090", "8.6"),
        ("550.54.15", "NVIDIA A100", "8.0"),
        ("525.85.12", "NVIDIA H100", "9.0"),
        ("550.54.15", "NVIDIA H100", "9.0"),
        ("570.86.10", "GeForce RTX 5090", "12.0"),
    ],
)
def test_they_agree_about_every_row(driver: str, gpu: str, capability: str) -> None:
    catalog, machine = real_catalog(), host(driver, gpu, capability)
    advised = fitting_rows(catalog, (machine,))
    judged = judge_rows(catalog.cuda, catalog.environments, machine)
    odd = [
        (each.environment, each.fit, advised[each.environment].verdict)
        for each in judged
        if advised[each.environment].verdict not in MEANS[each.fit]
    ]
    assert len(judged) == len(catalog.environments)
    assert not odd
