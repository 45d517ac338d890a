"""The environment of the catalog that is most similar to an installed TensorFlow, and its differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from packaging.version import Version

from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.core.names import version_of
from envbuilder.diagnostics.host.examination import EnvironmentDifference, Nearest
from envbuilder.diagnostics.host.installed import Installed
from envbuilder.lock.closures import Closure

SHOWN = ("keras", "tf-keras", "numpy", "protobuf", "h5py")
"""The packages that most often decide if a program runs, in the order of their display."""


def row_of(catalog: Catalog, release: Version, *, cuda: bool) -> Environment | None:
    """Return the row of a minor release, with CUDA or for the CPU; None if there is none."""
    fitting = [row for row in catalog.environments if (row.cuda is not None) is cuda]
    return next((row for row in fitting if _minor(row.framework.version) == _minor(release)), None)


def nearest(
    catalog: Catalog, installed: Installed, closures: Callable[[str], tuple[Closure, ...]], *, gpus: bool
) -> Nearest | None:
    """Return the most similar environment; None if the release of TensorFlow is unknown.

    `gpus`, whether the machine has a GPU, decides if the build of TensorFlow is unknown.
    """
    release = installed.release
    if release is None or not catalog.environments:
        return None
    cuda = installed.is_cuda_build if installed.is_cuda_build is not None else gpus
    row = row_of(catalog, release, cuda=cuda) or _next_to(catalog, release, cuda=cuda)
    same = row.release(Version(release.public))
    there = same or row
    own = "" if there.framework.version == row.framework.version else f" --tensorflow {there.framework.version}"
    return Nearest(
        environment=row.id,
        is_same_release=same is not None and not release.local,
        differences=tuple(_differences(installed, there, closures(row.id))),
        command=f"envbuilder build {row.id}{own}{row.bases[0].build_options}",
    )


def _next_to(catalog: Catalog, release: Version, *, cuda: bool) -> Environment:
    """Return the oldest row that is newer than a release; the newest if there is none."""
    rows = [row for row in catalog.environments if (row.cuda is not None) is cuda] or list(catalog.environments)
    rows.sort(key=lambda row: row.framework.version)
    return next((row for row in rows if row.framework.version > release), rows[-1])


def _differences(
    installed: Installed, row: Environment, closures: tuple[Closure, ...]
) -> Iterator[EnvironmentDifference]:
    release = installed.release
    if release != row.framework.version:
        yield EnvironmentDifference(what="TensorFlow", here=str(release), there=str(row.framework.version))
    python = installed.interpreter.version if installed.interpreter else None
    if python and python.head(2) != row.default_python.head(2):
        yield EnvironmentDifference(what="Python", here=python.series, there=str(row.default_python))
    yield from _libraries(installed, row)
    closure = next((each for each in closures if each.python.head(2) == row.default_python.head(2)), None)
    have = {each.name: each.version for each in closure.packages} if closure else {}
    for name in SHOWN:
        here, there = installed.packages.get(name), have.get(name, "")
        if here and closure and version_of(here.version) != version_of(there):
            yield EnvironmentDifference(what=name, here=here.version, there=there)


def _libraries(installed: Installed, row: Environment) -> Iterator[EnvironmentDifference]:
    """Yield the differences of CUDA and cuDNN from those of the row's first base."""
    if row.cuda is None:
        return
    pairs = (("CUDA", "libcudart", row.bases[0].cuda), ("cuDNN", "libcudnn", row.bases[0].cudnn))
    for what, stem, there in pairs:
        soname = next((name for name in row.cuda.sonames if name.startswith(f"{stem}.so")), "")
        library = installed.reached(soname)
        here = library.version if library else None
        if there and (library is None or (here and here.head(2) != there.head(2))):
            yield EnvironmentDifference(what=what, here=str(here or ""), there=str(there))


def _minor(version: Version) -> tuple[int, int]:
    return version.major, version.minor
