"""Checks of the static tier: ownership and permissions of the files in an image."""

from __future__ import annotations

import csv
import io
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from envbuilder.catalog.environments import BaseKind, PythonProvider
from envbuilder.core.image_layout import PYTHON, VENV
from envbuilder.core.image_paths import WHITEOUT, is_code, is_of_environment, merged, parents, shadowed
from envbuilder.core.references import normalized
from envbuilder.diagnostics.checks.results import NotProven, Outcome, Passed, failure
from envbuilder.image.contents import ContentExpectation, ImageContent
from envbuilder.lock.lock import PackageGroup

REBUILD = "rebuild from the lock: `envbuilder build LOCK`"
_MOST = 5
_MOST_LINKS = 40
_RECORD = re.compile(r"(.*/site-packages)/([^/]+)\.dist-info/RECORD")
_LIST = re.compile(r"var/lib/dpkg/info/([^/:]+)(?::[^/]+)?\.list")
_METADATA = re.compile(r"([^/]+)\.dist-info(?![^/])")
_CLEARED = (
    "`envbuilder lock`, then build again, which clears the set-user-ID and set-group-ID bits of "
    "programs that `allow:` of envbuilder.yaml does not name"
)
_REMEDIES = {
    BaseKind.DEBIAN: _CLEARED,
    BaseKind.UBUNTU: _CLEARED,
    BaseKind.IMAGE: "build with --engine docker, which clears the set-user-ID and set-group-ID bits of the base, or "
    "choose a Debian base, or name the program in `allow:` of envbuilder.yaml",
}
"""The remedy for a set-user-ID or set-group-ID program, for each kind of base."""

_LEAVE_OUT = "remove the package from envbuilder.yaml, or choose another version; then lock and build again"


def some(items: Iterable[str]) -> str:
    """Return the first few of some items as one text, with the number of the others."""
    listed = list(items)
    more = f" and {len(listed) - _MOST} more" if len(listed) > _MOST else ""
    return "; ".join(listed[:_MOST]) + more


def outcome_of_problems(problems: Iterable[str], remedy: str, seen: str) -> Outcome:
    """Return a failure with the first few problems; passed if there are none."""
    found = some(problems)
    return failure(problem=found, remedy=remedy) if found else Passed(seen=seen)


def recorded(text: bytes) -> Iterator[tuple[str, str]]:
    """Yield path and digest field of each line of a RECORD, without bytecode."""
    for row in csv.reader(io.StringIO(text.decode("utf-8", "replace"))):
        if row and not row[0].endswith(".pyc"):
            yield row[0], row[1] if len(row) > 1 else ""


def nothing_removed(expectation: ContentExpectation, content: ImageContent) -> Outcome:  # noqa: ARG001
    """Check that no layer of an assembled image removes a file of a lower one, and no package lists a whiteout."""
    listed = [f"{owner} lists /{path}" for path, owners in _owners(content).items() for owner in owners if _hides(path)]
    removed = [f"/{path} is removed by a layer" for path in content.removed]
    if listed or removed:
        return failure(problem=some([*sorted(listed), *removed]), remedy=_LEAVE_OUT)
    return Passed(seen="no file is removed by a layer above it")


def _hides(path: str) -> bool:
    return f"/{WHITEOUT}" in f"/{path}"


def interpreter_untouched(expectation: ContentExpectation, content: ImageContent) -> Outcome:
    """Check that the environment starts the interpreter of the lock, and that no package lists a file of either."""
    lock = expectation.lock
    series = lock.python.version.series
    archive = lock.python.provider is PythonProvider.ARCHIVE
    home = f"{PYTHON}/bin" if archive else "usr/bin"
    program = f"{home}/python{series}"
    interpreter = followed(program, content.paths)
    wrong = [] if interpreter else [f"/{program} is missing"]
    wrong += [
        f"/{VENV}/bin/{name} is not /{program}"
        for name in ("python", "python3", f"python{series}")
        if followed(f"{VENV}/bin/{name}", content.paths) != interpreter
    ]
    settings = content.texts.get(f"{VENV}/pyvenv.cfg", b"").decode("utf-8", "replace")
    if dict(re.findall(r"^(\w+)[ \t]*=[ \t]*(.*?)[ \t]*$", settings, re.MULTILINE)).get("home") != f"/{home}":
        wrong.append(f"/{VENV}/pyvenv.cfg names another interpreter than /{program}")
    for path, owners in _owners(content).items():
        if is_of_environment(path) and path in content.paths:
            wrong += [f"{owner} contains /{path}" for owner in owners]
    return outcome_of_problems(wrong, _LEAVE_OUT, f"/{program}")


def followed(path: str, paths: Mapping[str, str]) -> str:
    """Return the final target of a path; empty if it does not exist."""
    for _ in range(_MOST_LINKS):
        target = paths.get(path)
        if target is None:
            link = next((each for each in parents(path) if paths.get(each)), "")
            if not link:
                return ""
            path = f"{_target(link, paths[link])}{path.removeprefix(link)}"
        elif target:
            path = _target(path, target)
        else:
            return path
    return ""


def _target(link: str, target: str) -> str:
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(link), target)).lstrip("/")


def programs_not_hidden(expectation: ContentExpectation, content: ImageContent) -> Outcome:
    """Check that no file hides a program of the base or the driver, unless the spec adds or allows it."""
    allowed = {*expectation.lock.allow, *(file.path for file in expectation.lock.files)}
    owners = _owners(content)
    wrong = [
        f"/{path} hides {shadowed(path)!r} ({', '.join(owners.get(path, ())) or 'of no package'})"
        for path in sorted(content.paths)
        if shadowed(path) and f"/{path}" not in allowed
    ]
    return outcome_of_problems(
        wrong, "add the path to `allow:` of envbuilder.yaml, or remove the package", "no program of the base is hidden"
    )


def privileged_programs_packaged(expectation: ContentExpectation, content: ImageContent) -> Outcome:
    """Check that set-user-ID and set-group-ID programs are allowed by the spec, and belong to a package."""
    lock = expectation.lock
    owners = _owners(content)
    wrong, seen = [], []
    for path, rights in sorted(content.privileged.items()):
        packages = ", ".join(owners.get(_merged(path, content.paths), ()))
        described = f"/{path} ({rights}) of {packages or 'no package'}"
        if merged(path) not in lock.allowed_privileged or not packages:
            wrong.append(described)
        else:
            seen.append(described)
    return outcome_of_problems(
        wrong, _REMEDIES[lock.base.kind], f"{len(seen)}, as `allow:` says: {'; '.join(seen)}" if seen else "none"
    )


def one_owner_per_file(expectation: ContentExpectation, content: ImageContent) -> Outcome:
    """Check that no added package replaces code of the environment, or lists metadata of another distribution."""
    added = (PackageGroup.PROFILE, PackageGroup.OWN)
    own = {pin.name for pin in expectation.lock.packages if pin.group in added}
    known = {pin.name for pin in expectation.lock.packages if pin.group.is_installed}
    found: dict[str, dict[str, str]] = defaultdict(dict)
    wrong = []
    for site, name, path, digest in _records(content):
        found[path][name] = digest
        metadata = _METADATA.match(path.removeprefix(f"{site}/"))
        if metadata and _distribution(metadata[1]) != name:
            wrong.append(f"{name} lists /{path} of another distribution")
    several = {path: each for path, each in found.items() if len(each) > 1}
    for path, each in sorted(several.items()):
        theirs = sorted(each.keys() & (known - own))
        differ = is_code(path) and len(set(each.values())) > 1 and f"/{path}" not in expectation.lock.allow
        if differ and theirs and each.keys() & own:
            wrong.append(f"/{path} of {', '.join(theirs)} is in {', '.join(sorted(each.keys() & own))} too")
    if wrong:
        return failure(problem=some(wrong), remedy=_LEAVE_OUT)
    if not found:
        return NotProven(reason="no distribution in the image lists its files")
    return Passed(seen=f"{len(found)} files, {len(several)} of several distributions")


def no_file_is_a_folder(expectation: ContentExpectation, content: ImageContent) -> Outcome:  # noqa: ARG001
    """Check that no path is below a file or a link of the image."""
    wrong = {parent: path for path in sorted(content.paths) for parent in parents(path) if parent in content.paths}
    if wrong:
        lines = [f"/{path} lies below /{parent}, which is a file or a link" for parent, path in wrong.items()]
        return failure(problem=some(lines), remedy=_LEAVE_OUT)
    return Passed(seen=f"{len(content.paths)} files and links")


def links_stay_inside(expectation: ContentExpectation, content: ImageContent) -> Outcome:  # noqa: ARG001
    """Check that no link leads above the root of the image; an absolute one starts at the root."""
    wrong = [
        f"/{path} -> {target}"
        for path, target in sorted(content.paths.items())
        if target and not target.startswith("/") and _leaves(posixpath.join(posixpath.dirname(path), target))
    ]
    if wrong:
        return failure(problem=f"links point outside the image: {some(wrong)}", remedy=_LEAVE_OUT)
    return Passed(seen=f"{sum(bool(target) for target in content.paths.values())} links")


def _leaves(path: str) -> bool:
    return posixpath.normpath(path).split("/")[0] == ".."


def _owners(content: ImageContent) -> Mapping[str, list[str]]:
    """Return the names of the distributions and OS packages that list each file."""
    found: dict[str, list[str]] = defaultdict(list)
    for _, name, path, _ in _records(content):
        found[path].append(name)
    for file, text in content.texts.items():
        if match := _LIST.fullmatch(file):
            for line in text.decode("utf-8", "surrogateescape").splitlines():
                found[_merged(line.strip("/"), content.paths)].append(match[1])
    return found


def _merged(path: str, paths: Mapping[str, str]) -> str:
    """Return a path in which links from `/bin` and `/lib` to directories below `/usr` are resolved."""
    top, slash, rest = path.partition("/")
    target = paths.get(top, "") if slash else ""
    return f"{_target(top, target)}/{rest}" if target else path


def _records(content: ImageContent) -> Iterator[tuple[str, str, str, str]]:
    """Yield site-packages, name of the distribution, path and digest of each line of each RECORD."""
    for file, text in content.texts.items():
        if match := _RECORD.fullmatch(file):
            for line, digest in recorded(text):
                path = posixpath.normpath(posixpath.join("/", match[1], line)).lstrip("/")
                yield match[1], _distribution(match[2]), path, digest


def _distribution(directory: str) -> str:
    try:
        return normalized(directory.rpartition("-")[0])
    except ValueError:
        return directory
