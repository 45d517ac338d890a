"""What is said before an image is built or looked at on a host where it will not run."""

from __future__ import annotations

from envbuilder.catalog.machine import Host, HostGpu
from envbuilder.core.versions import Release
from envbuilder.diagnostics.preflight import misfits
from tests.fakes.catalogs import real_catalog


def host(driver: str, *names: str) -> Host:
    gpus = tuple(HostGpu(name=name, capability=None) for name in names)
    return Host(name="this host", driver=Release(driver), gpus=gpus or None)


def test_a_row_that_runs_here_gets_no_word() -> None:
    assert misfits(real_catalog(), "tf-2.4-cuda11.0", "", host("450.80.02", "Tesla K80")) == ()


def test_what_is_only_slower_or_not_known_gets_no_word() -> None:
    assert misfits(real_catalog(), "tf-2.10-cuda11.2", "", host("535.104.05", "NVIDIA A100-SXM4-40GB")) == ()
    assert misfits(real_catalog(), "tf-2.10-cuda11.2", "", host("535.104.05", "Voodoo 5")) == ()
    assert misfits(real_catalog(), "tf-2.10-cuda11.2", "", host("535.104.05")) == ()


def test_a_host_without_a_driver_and_a_row_without_a_gpu_get_no_word() -> None:
    assert misfits(real_catalog(), "tf-2.4-cuda11.0", "", None) == ()
    assert misfits(real_catalog(), "tf-2.4-cpu", "", host("418.87.00", "Tesla K80")) == ()
    assert misfits(real_catalog(), "team/image:1", "", host("418.87.00", "Tesla K80")) == ()


def test_a_driver_that_is_too_old_is_told_with_the_one_that_is_needed() -> None:
    reason, remedy = misfits(real_catalog(), "tf-2.4-cuda11.0", "", host("418.87.00", "Tesla K80"))
    assert "driver 418.87.00 is too old: it needs 450.80.02" in reason
    assert remedy.startswith("update the driver to 450.80.02 or later; ")
    assert "envbuilder list --fits" in remedy


def test_another_base_is_named_where_that_is_enough() -> None:
    image = "nvidia-cuda-11.8.0-cudnn8"
    reason, remedy = misfits(real_catalog(), "tf-2.12-cuda11.8", image, host("470.256.02", "Tesla K80"))
    assert "convolutions fail on this GPU" in reason
    assert remedy.startswith("another base: --base debian-bookworm; ")
    assert misfits(real_catalog(), "tf-2.12-cuda11.8", "debian-bookworm", host("470.256.02", "Tesla K80")) == ()
