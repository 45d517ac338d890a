"""Packages of a project: the requirements that can be resolved together with its environment."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from packaging.requirements import Requirement

from envbuilder.core.errors import ResolutionFailed, TimeLimitReached
from envbuilder.core.names import requirement_name
from envbuilder.lock.spec import Spec

_FAILED_BUILD = re.compile(
    r"Failed to build [`']?(?P<package>[^`' ]+).*?(?P<error>\b[A-Z]\w*(?:Error|Exception): "
    r"(?:No module named '(?P<module>[\w.]+)'|.{0,150}?(?= hint:|$)))"
)
"""What uv prints of a build that fails; the traceback of the build ends with the error."""
_FAILED_FILE = re.compile(
    r"Failed to (?:download|extract|fetch|read)[^`']*[`'](?P<package>[^`']+)[`'].*cause: (?P<cause>.+)$"
)
"""What uv prints of a file that it cannot read; the last cause is the exact one."""
_WORDS = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageChange:
    """A package of the project that could not be taken over as it is.

    Attributes:
        before: Requirement of the project.
        after: Requirement of the spec; empty if the package is left out.
    """

    before: str
    after: str
    reason: str

    @property
    def package(self) -> str:
        """Name of the package; empty if the project does not name it as a requirement."""
        try:
            return requirement_name(self.before)
        except ValueError:
            return ""


class Resolve(Protocol):
    """Resolves a spec."""

    def __call__(self, spec: Spec, *, seconds: float | None = None) -> object:
        """Resolve the packages of a spec.

        Args:
            spec: The spec.
            seconds: Time for it; None for a long one.

        Raises:
            ResolutionFailed: They do not go together.
            TimeLimitReached: It took longer.
        """
        ...


@dataclass(slots=True, kw_only=True)
class Trials:
    """Resolutions that show whether packages go together.

    Attributes:
        source_seconds: Time for those with source distributions, all together: each may have to be built to tell what
            it requires.
        clock: Returns seconds; only differences count.
    """

    resolve: Resolve
    source_seconds: float
    clock: Callable[[], float]
    _used: float = 0.0

    def problem(self, spec: Spec) -> ResolutionFailed | None:
        """Return why the packages of a spec do not go together; None if they do."""
        try:
            self.resolve(spec)
        except ResolutionFailed as error:
            return error
        return None

    def problem_from_source(self, spec: Spec) -> ResolutionFailed | None:
        """Return the same for a spec that builds another package, which is not known to work when the time is over."""
        left, begun = self.source_seconds - self._used, self.clock()
        try:
            if left > 0:
                self.resolve(spec, seconds=left)
                return None
        except ResolutionFailed as error:
            return error
        except TimeLimitReached:
            pass
        finally:
            self._used += self.clock() - begun
        return ResolutionFailed(f"not checked within {self.source_seconds:.0f} seconds (--source-limit)")


def resolvable(spec: Spec, trials: Trials) -> tuple[Spec, tuple[PackageChange, ...]]:
    """Return a spec whose packages can be resolved together, and what had to be changed for it.

    All packages are tried at once. A group that does not fit is divided into the packages that the resolver names and
    the others, or halved, until those that do not fit are found. Such a package is built from source if that helps,
    else it may have any version, else it is left out.
    """
    changes: list[PackageChange] = []
    accepted = replace(spec, packages=())

    def add(group: tuple[str, ...]) -> None:
        nonlocal accepted
        whole = _with(accepted, group)
        problem = trials.problem(whole) if group else None
        if problem is None:
            accepted = whole
        elif len(group) > 1:
            for part in _parted(group, problem):
                add(part)
        else:
            accepted, change = _changed(accepted, group[0], problem, trials)
            changes.append(change)

    add(spec.packages)
    return accepted, tuple(changes)


def _parted(group: tuple[str, ...], problem: ResolutionFailed) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return two parts of a group: those that the resolver does not name first, or halves if it names all or none."""
    words = {word.rstrip(".-_") for word in _WORDS.findall(problem.message.lower())}
    named = tuple(package for package in group if requirement_name(package) in words)
    if named and len(named) < len(group):
        return tuple(package for package in group if package not in named), named
    half = len(group) // 2
    return group[:half], group[half:]


def _changed(accepted: Spec, package: str, problem: ResolutionFailed, trials: Trials) -> tuple[Spec, PackageChange]:
    """Return the spec with the mildest change of a package that can be resolved.

    Another version that has a wheel comes before the same version built from source, since an image has no compiler.
    """
    reason = _reason(problem)
    name = requirement_name(package)
    loose = _any_version(package)
    last = None
    for requirement, is_built in ((loose, False), (package, True), (loose, True)):
        candidate = _with(accepted, (requirement,))
        if is_built:
            candidate = replace(candidate, source_builds=tuple(sorted({*candidate.source_builds, name})))
        if requirement == package and not is_built:
            continue
        last = trials.problem_from_source(candidate) if is_built else trials.problem(candidate)
        if last is None:
            after = f"{requirement}, built from source" if is_built else requirement
            return candidate, PackageChange(before=package, after=after, reason=reason)
    if last and _reason(last) != reason:
        reason += f"; from source: {_reason(last)}"
    return accepted, PackageChange(before=package, after="", reason=reason)


def _reason(problem: ResolutionFailed) -> str:
    """Return what a failed resolution says, in one line: its first sentence, or the error of a failed build."""
    text = " ".join(problem.message.split())
    failed = _FAILED_BUILD.search(text)
    if failed:
        missing = f" (list `{failed['module']}` under `build_requires` to build it)" if failed["module"] else ""
        return f"the build of {failed['package']} fails: {failed['error']}{missing}"
    unread = _FAILED_FILE.search(text)
    if unread:
        return f"the file of {unread['package']} cannot be read: {unread['cause']}"
    _, because, explanation = text.partition("Because ")
    return explanation.split(", we can conclude")[0] if because else text


def _any_version(package: str) -> str:
    found = Requirement(package)
    extras = f"[{','.join(sorted(found.extras))}]" if found.extras else ""
    return f"{found.name}{extras}"


def _with(spec: Spec, packages: tuple[str, ...]) -> Spec:
    return replace(spec, packages=tuple(sorted({*spec.packages, *packages})))
