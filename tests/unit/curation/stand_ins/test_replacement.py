"""Libraries that cannot be had are replaced in the lock of a proof, and nothing else is."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from envbuilder.catalog.archives import ArchivedLibrary, ArchiveFormat, ArchivePin
from envbuilder.catalog.environments import CudaProvider
from envbuilder.core.digests import digest_of
from envbuilder.curation.stand_ins.imported_symbols import ImportedSymbol
from envbuilder.curation.stand_ins.library import compiled, stand_in
from envbuilder.curation.stand_ins.replacement import DRIVER_IN_CONTAINER, Replaced, StandIns
from envbuilder.lock.create import lock
from envbuilder.lock.lock import Lock
from envbuilder.lock.spec import Spec
from envbuilder.oci.images import ImagePin, LayerFormat
from tests.fakes.catalogs import small_catalog
from tests.fakes.ports import lock_ports
from tests.unit.curation.stand_ins.clients import CUBLAS, DRIVER, client_file, stand_in_file

RUN_FILE = ArchivePin(
    id="cuda-9.0.176-runfile",
    format=ArchiveFormat.MAKESELF_NESTED,
    publisher="nvidia-developer",
    path="compute/cuda/9.0/cuda_9.0.176.run",
    file="cuda_9.0.176.run",
    sha256="ab" * 32,
    inner="run_files/cuda-linux.run",
    eula="EULA.txt",
    libraries=(
        ArchivedLibrary(soname="libcublas.so.9.0", path="lib64/libcublas.so.9.0"),
        ArchivedLibrary(soname="libcufft.so.9.0", path="lib64/libcufft.so.9.0"),
    ),
)


@pytest.fixture
def made() -> Lock:
    """A lock whose image takes two libraries out of a run file."""
    plain = lock(small_catalog(), Spec(environment="tf-2.4-cuda11.0"), lock_ports())
    assert plain.cuda
    return replace(plain, cuda=replace(plain.cuda, provider=CudaProvider.ARCHIVE, archives=(RUN_FILE,)))


@dataclass(kw_only=True)
class Here:
    """A machine that has some libraries.

    Attributes:
        folder: A folder for a wheel that imports functions of cuBLAS and of the driver.
        there: Sonames that can be had.
        store: Kept files, by digest.
    """

    folder: Path
    there: set[str] = field(default_factory=set)
    store: dict[str, bytes] = field(default_factory=dict)

    def replaced(self, made: Lock, *, driver: bool = False) -> Replaced:
        maker = StandIns(
            wheel=self._wheel,
            is_available=lambda _pin, library: library.soname in self.there,
            keep=self._keep,
            work=self.folder,
            search_path=os.environ["PATH"],
        )
        return maker.replace(made, driver=driver)

    def _wheel(self, _lock: Lock) -> Path:
        wheel = self.folder / "tensorflow_gpu-1.7.1-cp36-cp36m-manylinux1_x86_64.whl"
        functions = [each.name for each in (*CUBLAS, *DRIVER)]
        client = client_file(self.folder, functions, stand_in_file(self.folder, "libcublas.so.9.0", CUBLAS))
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.write(client, "tensorflow/libtensorflow_framework.so")
        return wheel

    def _keep(self, content: bytes) -> str:
        self.store[digest_of(content)] = content
        return digest_of(content)


def archives(replaced: Replaced) -> tuple[ArchivePin, ...]:
    assert replaced.lock.cuda
    return replaced.lock.cuda.archives


def content_of(soname: str, imports: tuple[ImportedSymbol, ...]) -> bytes:
    return compiled(stand_in(soname, imports), os.environ["PATH"])


def test_missing_libraries_become_stand_ins_that_are_in_the_store(made: Lock, tmp_path: Path) -> None:
    here = Here(folder=tmp_path)
    [pin] = archives(here.replaced(made))
    assert [(each.soname, each.path) for each in pin.libraries] == [
        ("libcublas.so.9.0", "lib64/libcublas.so.9.0"),
        ("libcufft.so.9.0", "lib64/libcufft.so.9.0"),
    ]
    contents = [here.store[f"sha256:{each.sha256}"] for each in pin.libraries]
    assert contents == [content_of("libcublas.so.9.0", CUBLAS), content_of("libcufft.so.9.0", ())]


def test_a_layer_with_stand_ins_never_has_the_key_of_the_real_one(made: Lock, tmp_path: Path) -> None:
    [pin] = archives(Here(folder=tmp_path).replaced(made))
    assert pin.sha256 != RUN_FILE.sha256
    assert (pin.id, pin.publisher) == ("stand-ins-cuda-9.0.176-runfile", "stand-ins")


def test_libraries_that_can_be_had_stay_in_their_archive(made: Lock, tmp_path: Path) -> None:
    real, replaced = archives(Here(folder=tmp_path, there={"libcublas.so.9.0"}).replaced(made))
    assert real == replace(RUN_FILE, libraries=RUN_FILE.libraries[:1])
    assert [each.soname for each in replaced.libraries] == ["libcufft.so.9.0"]


def test_a_lock_with_all_its_libraries_is_left_as_it_is(made: Lock, tmp_path: Path) -> None:
    here = Here(folder=tmp_path, there={"libcublas.so.9.0", "libcufft.so.9.0"})
    assert here.replaced(made) == Replaced(lock=made)
    assert not here.store


def test_the_driver_is_a_file_of_the_run_and_not_of_the_image(made: Lock, tmp_path: Path) -> None:
    here = Here(folder=tmp_path, there={"libcublas.so.9.0", "libcufft.so.9.0"})
    found = here.replaced(made, driver=True)
    assert found.sonames == ("libcuda.so.1",)
    assert archives(found) == (RUN_FILE,)
    assert found.files == ((DRIVER_IN_CONTAINER, content_of("libcuda.so.1", DRIVER)),)


def test_the_image_of_the_real_lock_is_not_expected(made: Lock, tmp_path: Path) -> None:
    digest = f"sha256:{'1' * 64}"
    image = ImagePin(format=LayerFormat.TAR, manifest=digest, config=digest, layers=())
    assert Here(folder=tmp_path).replaced(replace(made, image=image)).lock.image is None


def test_a_cpu_lock_is_left_as_it_is(tmp_path: Path) -> None:
    plain = lock(small_catalog(), Spec(environment="tf-2.15-cpu"), lock_ports())
    assert Here(folder=tmp_path).replaced(plain) == Replaced(lock=plain)
