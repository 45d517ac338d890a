"""Checks of the static tier: the content of an image, without running any of it."""

from __future__ import annotations

import posixpath
import re
from base64 import urlsafe_b64decode
from binascii import Error as NotBase64
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from envbuilder.core.image_layout import LOCK_FILE, VENV, WORKSPACE
from envbuilder.core.references import normalized
from envbuilder.diagnostics.checks.image_files import (
    REBUILD,
    interpreter_untouched,
    links_stay_inside,
    no_file_is_a_folder,
    nothing_removed,
    one_owner_per_file,
    outcome_of_problems,
    privileged_programs_packaged,
    programs_not_hidden,
    recorded,
    some,
)
from envbuilder.diagnostics.checks.interpreter import same_version
from envbuilder.diagnostics.checks.library_search import Search
from envbuilder.diagnostics.checks.results import (
    CheckResult,
    NotProven,
    Outcome,
    Passed,
    Report,
    Tier,
    failure,
    outcome_of,
)
from envbuilder.image.contents import ContentExpectation, ImageContent
from envbuilder.image.vendor.placement import library_path

Examine: TypeAlias = Callable[[ContentExpectation, ImageContent], Outcome]

NOT_COVERED = (
    "that anything in it runs: nothing was started",
    "that a driver fits, and that TensorFlow sees a GPU and computes on it",
)
_FROM_DRIVER = re.compile(r"lib(cuda|nvidia-[a-z0-9-]+|nvcuvid|nvoptix)\.so.*")
_GROUP = "Files in the image"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentCheck:
    """One check.

    Attributes:
        id: Stable kebab-case id.
        examine: Compares expectation and content; pure.
        applies: Condition on the content of the lock.
    """

    id: str
    title: str
    examine: Examine
    applies: Callable[[ContentExpectation], bool] = lambda _expectation: True


def run_content_checks(
    expectation: ContentExpectation,
    content: ImageContent,
    *,
    subject: str,
    seconds: float,
    required: Tier | None = None,
) -> Report:
    """Run every check of the static tier."""
    lock = expectation.lock
    return Report(
        subject=subject,
        environment=lock.environment,
        tier=Tier.STATIC,
        required=required,
        results=tuple(
            CheckResult(
                id=check.id,
                title=check.title,
                outcome=outcome_of(check.id, check.examine(expectation, content)),
                tiers=(Tier.STATIC,),
                group=_GROUP,
            )
            for check in CONTENT_CHECKS
            if check.applies(expectation)
        ),
        facts=(
            ("layers", str(len(content.diff_ids))),
            ("files", str(len(content.paths))),
            ("libraries and programs", str(len(content.libraries))),
        ),
        deviations=lock.differences,
        not_covered=NOT_COVERED,
        seconds=seconds,
    )


_IMAGE_UNKNOWN = {
    True: "the lock in the image cannot contain the digest of the image: name the lock file with `--lock FILE`",
    False: "the lock does not name its image: `envbuilder lock` adds it",
}
"""Keyed by True if the lock was read from the image."""


def layers_match_lock(expectation: ContentExpectation, content: ImageContent) -> Outcome:
    """Check that the layers are those of the lock, bit by bit."""
    pinned = expectation.lock.image
    if pinned is None:
        return NotProven(reason=_IMAGE_UNKNOWN[expectation.lock_is_inside])
    wanted = tuple(layer.diff_id for layer in pinned.layers)
    if wanted == content.diff_ids:
        return Passed(seen=f"all {len(wanted)}, by the digests of their content")
    if not content.assembled:
        return NotProven(reason="an engine built the image, so its layers contain the time of the build")
    differ = [layer.id for layer, found in zip(pinned.layers, content.diff_ids, strict=False) if layer.diff_id != found]
    what = f"layers differ: {some(differ)}" if differ else f"{len(content.diff_ids)} layers instead of {len(wanted)}"
    return failure(problem=what, remedy=f"`envbuilder verify` names the files; {REBUILD}")


def lock_in_image(expectation: ContentExpectation, content: ImageContent) -> Outcome:
    """Check that the image contains the lock that it is checked against."""
    found = content.texts.get(LOCK_FILE)
    if found is None:
        return failure(problem=f"there is no /{LOCK_FILE}", remedy=REBUILD)
    if found != expectation.lock_text:
        return failure(
            problem="the lock in the image differs",
            remedy="specify the lock that it was built from (--lock FILE), or rebuild",
        )
    return Passed(seen="identical")


def settings_match_lock(expectation: ContentExpectation, content: ImageContent) -> Outcome:
    """Check that labels, environment variables, user and working directory are those of the lock."""
    user = expectation.lock.user
    wrong = [
        *_differences("label", expectation.labels, content.labels),
        *_differences("variable", expectation.env, content.env),
    ]
    if content.user not in {f"{user.uid}:{user.gid}", user.name, str(user.uid)}:
        wrong.append(f"it runs as {content.user or 'root'} instead of {user.uid}:{user.gid}")
    folder = expectation.lock.settings.workdir or f"/{WORKSPACE}"
    if content.folder != folder:
        wrong.append(f"its working directory is {content.folder or '/'} instead of {folder}")
    if wrong:
        return failure(problem="; ".join(wrong), remedy=REBUILD)
    return Passed(seen=f"{len(expectation.labels)} labels, {len(expectation.env)} variables, user {content.user}")


def _differences(what: str, wanted: Iterable[tuple[str, str]], found: Mapping[str, str]) -> Iterator[str]:
    for name, value in wanted:
        if name not in found:
            yield f"the {what} {name} is missing"
        elif found[name] != value:
            yield f"the {what} {name} is {found[name]!r} instead of {value!r}"


def distributions_recorded(expectation: ContentExpectation, content: ImageContent) -> Outcome:
    """Check that every pin of the lock is present in its version, by the metadata in the image."""
    found = dict(_distributions(content))
    pins = [pin for pin in expectation.lock.packages if pin.group.is_installed]
    wrong = [
        f"{pin.name} is {found[pin.name]} instead of {pin.version}" if pin.name in found else f"{pin.name} is missing"
        for pin in pins
        if not (pin.name in found and same_version(found[pin.name], pin.version))
    ]
    extra = sorted(found.keys() - {pin.name for pin in pins})
    if wrong:
        return failure(problem=some(wrong), remedy=REBUILD)
    if extra:
        return failure(
            problem=f"not in the lock: {some(extra)}",
            remedy="add them to envbuilder.yaml and lock again; do not install packages into an image afterwards",
        )
    return Passed(seen=f"all {len(pins)} packages of the lock, and no others")


def _distributions(content: ImageContent) -> Iterator[tuple[str, str]]:
    for path, text in content.texts.items():
        if path.startswith(f"{VENV}/") and path.endswith(".dist-info/METADATA"):
            head = text.partition(b"\n\n")[0].decode("utf-8", "replace")
            named = dict(re.findall(r"^(Name|Version):[ \t]*(\S+)", head, re.MULTILINE))
            if len(named) == 2:
                yield normalized(named["Name"]), named["Version"]


def files_recorded(expectation: ContentExpectation, content: ImageContent) -> Outcome:  # noqa: ARG001
    """Check that every installed file is present and has the recorded digest."""
    known = _digests_recorded(content)
    wrong = []
    for file, digests in known.items():
        if file not in content.paths:
            wrong.append(f"/{file} is missing")
        elif "" not in digests and content.digests.get(file, min(digests)) not in digests:
            wrong.append(f"/{file} differs from the file that its distribution installed")
    if wrong:
        return failure(problem=some(wrong), remedy=REBUILD)
    if not known:
        return NotProven(reason="no distribution in the image lists its files")
    return Passed(seen=f"{len(known)} files")


def _digests_recorded(content: ImageContent) -> Mapping[str, set[str]]:
    """Return the digests that distributions record for each path; several if several of them contain the file."""
    known: dict[str, set[str]] = defaultdict(set)
    for path, text in content.texts.items():
        if path.startswith(f"{VENV}/") and path.endswith(".dist-info/RECORD"):
            site = path.rsplit("/", 2)[0]
            for name, digest in _recorded(text):
                known[posixpath.normpath(f"/{site}/{name}").lstrip("/")].add(digest)
    return known


def _recorded(text: bytes) -> Iterator[tuple[str, str]]:
    """Yield path and sha256 (hexadecimal; empty without one) of each line of a RECORD, without bytecode."""
    for path, field in recorded(text):
        kind, _, value = field.partition("=")
        try:
            yield path, urlsafe_b64decode(f"{value}===").hex() if kind == "sha256" else ""
        except (NotBase64, ValueError):
            yield path, "unreadable"


def libraries_closed(expectation: ContentExpectation, content: ImageContent) -> Outcome:  # noqa: ARG001
    """Check that every required library is in the image."""
    search = Search.of(content)
    missing: dict[str, str] = {}
    broken = [f"/{library.path}: {library.damage}" for library in content.libraries if library.damage]
    for library in content.libraries:
        for name in library.needed:
            if not (_FROM_DRIVER.fullmatch(name) or search.finds(name, library) or search.is_somewhere(name)):
                missing.setdefault(name, library.path)
    if missing or broken:
        lines = [f"{name}, which /{path} needs, is not there" for name, path in sorted(missing.items())]
        return failure(
            problem=some([*lines, *broken]),
            remedy="add the OS package that contains it: `apt:` in envbuilder.yaml; then lock and build again",
        )
    return Passed(seen=f"{len(content.libraries)} libraries and programs")


def cuda_libraries_present(expectation: ContentExpectation, content: ImageContent) -> Outcome:
    """Check that the libraries that TensorFlow opens are where the loader, or TensorFlow itself, searches."""
    cuda = expectation.lock.cuda
    if cuda is None:
        return NotProven(reason="this is a CPU environment")
    search = Search.of(content)
    own = [library for library in content.libraries if "/tensorflow/" in f"/{library.path}"]
    missing = [name for name in cuda.sonames if not any(search.finds(name, each) for each in own)]
    if missing:
        return failure(problem=f"not on the loader's path: {some(missing)}", remedy=REBUILD)
    return Passed(seen=f"all {len(cuda.sonames)}")


def no_driver_inside(expectation: ContentExpectation, content: ImageContent) -> Outcome:  # noqa: ARG001
    """Check that the image contains no part of a driver, which has to come from the host."""
    found = sorted(
        path
        for path in content.paths
        if re.fullmatch(r"libcuda\.so.*|libnvidia-ml\.so.*", path.rpartition("/")[2]) and "/stubs/" not in f"/{path}"
    )
    if found:
        return failure(
            problem=f"a driver library is in the image: {some([f'/{path}' for path in found])}",
            remedy="remove it: the host mounts its driver, and the loader may find the wrong one",
        )
    return Passed(seen="none")


def own_files_match_lock(expectation: ContentExpectation, content: ImageContent) -> Outcome:
    """Check that own files are those of the lock."""
    files = expectation.lock.files
    wrong = [
        f"{file.path} is missing" if file.path.lstrip("/") not in content.digests else f"{file.path} is another file"
        for file in files
        if content.digests.get(file.path.lstrip("/")) != file.sha256
    ]
    return outcome_of_problems(wrong, REBUILD, f"all {len(files)}")


def vendor_libraries_unmodified(expectation: ContentExpectation, content: ImageContent) -> Outcome:
    """Check that the libraries of vendor archives are those of the lock; NVIDIA's license forbids to modify them."""
    libraries = {library_path(each): each for pin in expectation.lock.archives for each in pin.libraries}
    missing = [f"/{path} is missing" for path in libraries if content.paths.get(path) != ""]
    compared = {path: each.sha256 for path, each in libraries.items() if each.sha256 and path in content.digests}
    other = [f"/{path} is another file" for path, sha256 in compared.items() if content.digests[path] != sha256]
    seen = f"all {len(libraries)}, and the sha256 of {len(compared)}"
    return outcome_of_problems([*missing, *other], REBUILD, seen)


CONTENT_CHECKS: tuple[ContentCheck, ...] = (
    ContentCheck(id="layers-match-lock", title="layers", examine=layers_match_lock),
    ContentCheck(id="lock-in-image", title="the lock inside", examine=lock_in_image),
    ContentCheck(id="settings-match-lock", title="labels, variables, user", examine=settings_match_lock),
    ContentCheck(id="distributions-recorded", title="installed packages", examine=distributions_recorded),
    ContentCheck(id="files-recorded", title="installed files", examine=files_recorded),
    ContentCheck(id="one-owner-per-file", title="files of several packages", examine=one_owner_per_file),
    ContentCheck(id="interpreter-untouched", title="the interpreter", examine=interpreter_untouched),
    ContentCheck(id="programs-not-hidden", title="programs of the base", examine=programs_not_hidden),
    ContentCheck(id="privileged-programs-packaged", title="set-user-ID programs", examine=privileged_programs_packaged),
    ContentCheck(id="nothing-removed", title="files removed by layers", examine=nothing_removed),
    ContentCheck(id="no-file-is-a-folder", title="files and directories", examine=no_file_is_a_folder),
    ContentCheck(id="links-stay-inside", title="links", examine=links_stay_inside),
    ContentCheck(
        id="own-files-match-lock",
        title="own files",
        examine=own_files_match_lock,
        applies=lambda expectation: bool(expectation.lock.files),
    ),
    ContentCheck(id="libraries-closed", title="libraries that libraries need", examine=libraries_closed),
    ContentCheck(
        id="cuda-libraries-present",
        title="CUDA libraries",
        examine=cuda_libraries_present,
        applies=lambda expectation: expectation.lock.cuda is not None,
    ),
    ContentCheck(
        id="vendor-libraries-unmodified",
        title="libraries of vendor archives",
        examine=vendor_libraries_unmodified,
        applies=lambda expectation: bool(expectation.lock.archives),
    ),
    ContentCheck(id="no-driver-inside", title="no driver inside", examine=no_driver_inside),
)
