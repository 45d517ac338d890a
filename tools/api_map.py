"""Write `matrices/api.yaml`: `python -m tools.api_map [--import 1.4=PYTHON …]`.

Reads one CPU wheel of each minor release in the catalog, a few megabytes of each, by range requests to the package
index. TensorFlow 1.4 to 1.8 has no list of its public names in its files: name an interpreter that has that release
installed, whose names are then listed by importing it.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from envbuilder.catalog.api_names import ApiMap, ApiModule
from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.catalog.load.tables import SCHEMA
from envbuilder.core.http.web import Web
from envbuilder.core.versions import Release
from envbuilder.core.yaml.canonical import Plain, dump
from envbuilder.lock.index.index import Index, IndexFile
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import Settings, settings
from envbuilder.wiring.shipped_packages import closures
from envbuilder.wiring.sources import downloads, package_index
from tools.api_names import Names, keras_names, names_by_import, names_of_wheel
from tools.remote_wheel import linux_wheel, open_wheel

_HEADER = """\
# The public names of TensorFlow's modules and the releases that have them, read from a CPU wheel of each minor.
# `diagnose` reads it. Written by `python -m tools.api_map`; do not edit.
"""


def main(arguments: Sequence[str]) -> int:
    """Write the file; see the module."""
    pythons = dict(each.split("=", 1) for each in arguments if "=" in each)
    here = settings()
    catalog = load_catalog(here.matrices)
    session = Session(here, catalog, print)
    index, web = package_index(here, Sources()), downloads(session, Sources())
    read: dict[str, dict[str, Plain]] = {}
    found: dict[Release, Names] = {}
    for row in (each for each in catalog.environments if each.cuda is None):
        minor = f"{row.framework.version.major}.{row.framework.version.minor}"
        python = Path(pythons[minor]) if minor in pythons else None
        names, files = _read(_Source(index=index, web=web), row, python, _keras(here, catalog, row))
        found[Release(minor)] = names
        read[minor] = {
            "read": "by import" if python else "from its files",
            "sources": [f"{file.file} sha256 {file.sha256}, read {datetime.now(UTC).date()}" for file in files],
        }
        print(f"{minor}: {sum(map(len, names.values()))} names in {len(names)} modules", flush=True)
    text = _HEADER + dump(plain_api(combined(found), read))
    (here.matrices / "api.yaml").write_text(text, encoding="utf-8")
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Where wheels come from."""

    index: Index
    web: Web

    def wheel(self, package: str, version: str) -> tuple[IndexFile, zipfile.ZipFile]:
        """Return a wheel of a release."""
        file = linux_wheel(self.index, package, version)
        return file, open_wheel(self.web, file)


def _read(source: _Source, row: Environment, python: Path | None, keras: str) -> tuple[Names, list[IndexFile]]:
    """The names of a release, and the wheels that they were read from."""
    file, wheel = source.wheel(row.framework.package, str(row.framework.version))
    files = [file]
    names = names_by_import(python, wheel) if python else names_of_wheel(wheel)
    if "tf.keras" not in names and keras:
        file, wheel = source.wheel("keras", keras)
        files.append(file)
        names.update(keras_names(wheel))
    return names, files


def _keras(settings: Settings, catalog: Catalog, row: Environment) -> str:
    """The Keras that the row installs for its oldest interpreter; empty when it installs none."""
    shipped = closures(settings, catalog).read(row.id)
    return next((each.version for closure in shipped for each in closure.packages if each.name == "keras"), "")


def combined(found: Mapping[Release, Names]) -> ApiMap:
    """Return the names of several releases as one map."""
    modules: dict[str, ApiModule] = {}
    for module in sorted({module for names in found.values() for module in names}):
        read = frozenset(release for release, names in found.items() if module in names)
        every = sorted({name for release in read for name in found[release][module]})
        having = {name: frozenset(release for release in read if name in found[release][module]) for name in every}
        modules[module] = ApiModule(read=read, names=having)
    return ApiMap(releases=tuple(sorted(found)), modules=modules)


def spelled(chosen: frozenset[Release], releases: tuple[Release, ...]) -> str:
    """Return releases as a list of spans; the inverse of `spans`.

    Example:
        >>> known = tuple(map(Release, ("1.4", "1.5", "1.6", "2.0")))
        >>> spelled(frozenset({known[0], known[1], known[3]}), known)
        '1.4-1.5, 2.0'
    """
    runs: list[list[Release]] = []
    for index, release in enumerate(releases):
        if release not in chosen:
            continue
        if runs and index and runs[-1][-1] == releases[index - 1]:
            runs[-1].append(release)
        else:
            runs.append([release])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def plain_api(api: ApiMap, read: dict[str, dict[str, Plain]]) -> dict[str, Plain]:
    """Return the map as a document for `dump`.

    Args:
        api: The map.
        read: By release, the other fields of its entry: how it was read, and the sources.
    """
    modules: list[Plain] = []
    for module, known in sorted(api.modules.items()):
        groups: dict[str, list[str]] = {}
        for name, having in sorted(known.names.items()):
            groups.setdefault(spelled(having, api.releases), []).append(name)
        names: list[Plain] = [{"in": span, "have": " ".join(groups[span])} for span in sorted(groups)]
        modules.append({"module": module, "read": spelled(known.read, api.releases), "names": names})
    releases: list[Plain] = [{"release": str(each), **read[str(each)]} for each in api.releases]
    return {"schema": SCHEMA, "releases": releases, "modules": modules}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
