"""A lock in the output of `show`."""

from __future__ import annotations

from pathlib import Path

from envbuilder.cli.output.show_files import lock_description, lock_lines
from envbuilder.lock.create import lock
from envbuilder.lock.spec import Spec
from tests.fakes.catalogs import real_catalog
from tests.fakes.ports import lock_ports

LOCK = lock(real_catalog(), Spec(environment="tf-1.7-cuda9.0"), lock_ports())


def test_a_lock_names_the_archives_and_the_libraries_out_of_each() -> None:
    said = "\n".join(lock_lines(Path("envbuilder.lock"), LOCK))
    assert "libcudnn.so.7 out of cudnn-7.0.5.15-cuda9.0 of nvidia-developer-download" in said
    archives = lock_description(Path("envbuilder.lock"), LOCK)["archives"]
    assert isinstance(archives, list)
    assert [archive["id"] for archive in archives] == ["cuda-9.0.176-runfile", "cudnn-7.0.5.15-cuda9.0"]
