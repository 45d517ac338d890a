"""Resolve the profiles beside every environment: `python -m tools.profile_resolutions [GLOB…] [--every-python]`.

Asks the package index. Prints the table of docs/jupyter.md, then each refusal with the resolver's reason; exit status 1
if there is any. Bases with the same packages and C library are tried once. `--every-python` also tries the interpreters
that `python:` of a spec can choose, whose packages are resolved first if none are shipped.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from envbuilder.catalog.environments import BaseChoice, Environment, PythonProvider
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.core.errors import EnvbuilderError
from envbuilder.lock.closures import Measure, with_sizes
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.profiles import ChosenProfile, chosen_profiles, resolve_profiles
from envbuilder.lock.resolve.requests import row_request
from envbuilder.lock.resolve.resolver import Resolver
from envbuilder.lock.resolve.shipped_closures import ShippedClosures
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings
from envbuilder.wiring.shipped_packages import closures
from envbuilder.wiring.sources import package_resolver, package_sizes

_PROFILES = ("jupyter", "tensorboard")
_SHOWN = ("jupyterlab", "notebook", "ipykernel")
_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    row: Environment
    choice: BaseChoice
    profiles: tuple[ChosenProfile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What came of one trial: versions by name, number and bytes of the added files; or a reason."""

    versions: dict[str, str]
    added: int = 0
    size: int = 0
    refusal: str = ""


def main(arguments: Sequence[str]) -> int:
    """Print the table; see the module."""
    here = settings()
    catalog = load_catalog(here.matrices)
    globs = [each for each in arguments if not each.startswith("--")] or ["*"]
    rows = [row for row in catalog.environments if any(fnmatchcase(row.id, glob) for glob in globs)]
    trials = [
        _Trial(row=row, choice=choice, profiles=chosen_profiles(catalog, _PROFILES, row.framework.version))
        for row in rows
        for choice in _choices(row, every="--every-python" in arguments)
    ]
    shipped, resolver = closures(here, catalog), package_resolver(here, Sources())
    sizes = package_sizes(Session(here, catalog, print), Sources())

    def outcome(trial: _Trial) -> _Outcome:
        return _outcome(trial, shipped, resolver, sizes)

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(zip(trials, pool.map(outcome, trials), strict=True))
    print("\n".join(_table(outcomes)))
    refused = [(trial, found.refusal) for trial, found in outcomes if found.refusal]
    for trial, reason in refused:
        print(f"\n{trial.row.id} on {trial.choice.system.id}, Python {trial.choice.python}: {reason}")
    print(f"\n{len(outcomes)} combinations of environment, base and Python; {len(refused)} refused")
    return 1 if refused else 0


def _choices(row: Environment, *, every: bool) -> Iterator[BaseChoice]:
    """Yield the bases of an environment, each with its interpreter or with all that it can have."""
    seen = set()
    for choice in row.bases:
        chooses = every and choice.python_provider is PythonProvider.ARCHIVE
        for python in (choice.python, *(row.pythons if chooses else ())):
            own = replace(choice, python=python)
            request = row_request(row, own)
            if request not in seen:
                seen.add(request)
                yield own


def _outcome(trial: _Trial, shipped: ShippedClosures, resolver: Resolver, measure: Measure) -> _Outcome:
    request = row_request(trial.row, trial.choice)
    try:
        closure = shipped.find(trial.row.id, request)
        packages = closure.packages if closure else resolver.resolve(request)
        added = with_sizes(
            resolve_profiles(trial.profiles, packages, request, resolver),
            request.python,
            measure,
        )
    except EnvbuilderError as error:
        return _Outcome(versions={}, refusal=f"{type(error).__name__}: {error.message}")
    versions = {each.name: each.version for each in added}
    return _Outcome(versions=versions, added=len(added), size=sum(each.size for each in added))


def _table(outcomes: Iterable[tuple[_Trial, _Outcome]]) -> Iterator[str]:
    """Yield a Markdown table with one line for each Python, cut-off day and result."""
    lines: dict[tuple[str, ...], list[str]] = defaultdict(list)
    figures: dict[tuple[str, ...], list[_Outcome]] = defaultdict(list)
    for trial, found in outcomes:
        versions = (
            tuple(found.versions.get(name, "") for name in _SHOWN) if not found.refusal else ("refused",) * len(_SHOWN)
        )
        key = (trial.choice.python.text, trial.row.cutoff.isoformat(), *versions)
        lines[key].append(trial.row.id)
        figures[key].append(found)
    yield "| Python | cut-off day | environments | JupyterLab | Notebook | ipykernel | packages added | MiB |"
    yield "|---|---|---|---|---|---|---|---|"
    for key in sorted(lines, key=lambda key: (tuple(map(int, key[0].split("."))), key[1:])):
        python, cutoff, lab, notebook, kernel = key
        added = _span([each.added for each in figures[key]])
        size = _span([round(each.size / _MIB) for each in figures[key]])
        rows = _rows(dict.fromkeys(lines[key]))
        yield f"| {python} | {cutoff} | {rows} | {lab} | {notebook} | {kernel} | {added} | {size} |"


def _rows(names: Iterable[str]) -> str:
    """Return the releases of some environments, in the order of the catalog: `1.4 to 1.14 (22 environments)`."""
    known = list(names)
    releases = list(dict.fromkeys(name.split("-")[1] for name in known))
    span = releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"
    return f"TensorFlow {span} ({len(known)})"


def _span(numbers: Iterable[int]) -> str:
    found = sorted(set(numbers))
    return f"{found[0]}" if len(found) == 1 else f"{found[0]} to {found[-1]}"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
