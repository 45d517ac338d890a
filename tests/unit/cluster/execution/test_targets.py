"""Values of `--on` are read, and anything else is refused with a reason."""

from __future__ import annotations

import pytest

from envbuilder.cluster.execution.targets import DaskCluster, LocalProcesses, SlurmJobs, parse_target


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("local", LocalProcesses()),
        ("local:3", LocalProcesses(at_once=3)),
        ("slurm", SlurmJobs()),
        ("slurm:gres=gpu:a100:1", SlurmJobs(fields=(("gres", "gpu:a100:1"),))),
        ("slurm:mem=8G,constraint=a100&ib", SlurmJobs(fields=(("constraint", "a100&ib"), ("mem", "8G")))),
        ("dask://[::1]:8786", DaskCluster(address="[::1]:8786")),
    ],
)
def test_a_place_is_read(text: str, target: object) -> None:
    assert parse_target(text) == target


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not local"),
        ("local:", "is not local"),
        ("local:0", "is not local"),
        ("kubernetes", "is not local"),
        ("dask:host:1", "is not local"),
        ("dask://host", "is not local"),
        ("dask://user:pass@host:1", "is not local"),
        ("slurm:", "unknown field of slurm: ''"),
        ("slurm:nodes=3", "unknown field of slurm: 'nodes'"),
        ("slurm:cpus=2,cpus=3", "cpus of slurm is given twice"),
        ("slurm:minutes=1h", "invalid value of minutes: '1h'"),
        ("slurm:partition=", "invalid value of partition: ''"),
        ("slurm:partition=a b", "invalid value of partition: 'a b'"),
    ],
)
def test_anything_else_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_target(text)
