"""Findings about the Python packages beside TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.markers import UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envbuilder.catalog.keras import KerasRule
from envbuilder.catalog.sources import Breakage
from envbuilder.core.names import version_of
from envbuilder.diagnostics.facts.facts import NOT_ASKED, Unseen
from envbuilder.diagnostics.facts.host import Distribution
from envbuilder.diagnostics.findings import Finding, Remedy, Severity, finding, note, problem, warning
from envbuilder.diagnostics.host.installation import Installation
from envbuilder.diagnostics.host.installed import KERAS, TENSORFLOW

_ANY = SpecifierSet()
_NOT_TRIED = {NOT_ASKED.kind, "NotReached"}


def import_fails(installation: Installation) -> Iterator[Finding]:
    """Report that `import tensorflow` was tried and failed."""
    fact = installation.installed.facts.imported
    if isinstance(fact, Unseen) and fact.kind not in _NOT_TRIED and installation.installed.has_files:
        yield problem(
            "tensorflow-import-fails",
            f"import tensorflow fails: {fact.summary}",
            "no program that uses TensorFlow starts with this Python",
            *installation.build("use an environment that is known to work"),
        )


def two_tensorflows(installation: Installation) -> Iterator[Finding]:
    """Report several distributions with TensorFlow's files, in one directory or in two."""
    found = installation.installed.frameworks
    if len(found) < 2:
        return
    names = " and ".join(f"{each.name} {each.version}" for each in found)
    together = len({each.folder for each in found}) < len(found)
    first = found[0]
    yield finding(
        "two-tensorflows",
        Severity.PROBLEM if together else Severity.WARNING,
        f"{names} are installed" + ("" if together else f"; the import takes the one in {first.folder}"),
        "their files overwrite each other; removing one of them breaks the other"
        if together
        else "programs with another sys.path import the other one",
        Remedy(
            text="remove all of them, then install one",
            command=f"{installation.pip('uninstall', '-y', *dict.fromkeys(each.name for each in found))}"
            f" && {installation.pip('install', f'{first.name}=={first.version}')}",
        ),
    )


def files_missing(installation: Installation) -> Iterator[Finding]:
    """Report that TensorFlow's metadata is present and its files are missing."""
    framework = installation.installed.framework
    if framework is None or installation.installed.has_files:
        return
    again = installation.pip("install", "--force-reinstall", "--no-deps", f"{framework.name}=={framework.version}")
    yield problem(
        "tensorflow-files-missing",
        f"{framework.name} {framework.version} is installed, but there is no module tensorflow",
        "import tensorflow fails; this happens when one of two TensorFlow packages is removed",
        Remedy(text="install its files again", command=again),
    )


def packages_break_import(installation: Installation) -> Iterator[Finding]:
    """Report packages that are known to break the import of this release, unless the import succeeded."""
    for name, breakage in _breaking(installation).items() if installation.installed.imported is None else ():
        yield problem(
            "package-breaks-import",
            f"{name} {installation.installed.packages[name].version} is installed beside {installation.name}",
            f"import tensorflow fails: {breakage.reason}",
            _pip(installation, name, str(_allowed(installation, name))),
            *installation.build("or use an environment that works"),
        )


def known_traps(installation: Installation) -> Iterator[Finding]:
    """Report packages outside the catalog's bounds for this release."""
    broken = _breaking(installation)
    for bound in installation.row.constraints if installation.row and not installation.is_own_build else ():
        requirement = Requirement(bound.requirement)
        version = installation.installed.version(requirement.name)
        # keras.yaml has more details about Keras, see `keras_unfit`.
        if version is None or requirement.name in {KERAS, *broken} or version in _all(requirement.specifier):
            continue
        yield warning(
            "package-known-trap",
            f"{requirement.name} {version} is installed beside {installation.name}: {bound.advisory.title}",
            bound.advisory.reason,
            _pip(installation, requirement.name, str(requirement.specifier)),
        )


def additions_missing(installation: Installation) -> Iterator[Finding]:
    """Report missing packages that TensorFlow needs for some work and does not require."""
    for bound in installation.row.additions if installation.row and not installation.is_own_build else ():
        requirement = Requirement(bound.requirement)
        if requirement.name not in installation.installed.packages:
            yield warning(
                "package-missing",
                f"{requirement.name} is not installed: {bound.advisory.title}",
                bound.advisory.reason,
                _pip(installation, requirement.name, str(requirement.specifier)),
            )


def requirements_unmet(installation: Installation) -> Iterator[Finding]:
    """Report packages that violate the requirements in TensorFlow's own metadata."""
    reported = {*_breaking(installation), *((KERAS,) if _refusal_of_keras(installation) else ())}
    unmet = [
        each for each in _requirements(installation) if each.name not in reported and _is_unmet(installation, each)
    ]
    if not unmet:
        return
    listed = ", ".join(f"{each.name}{each.specifier} ({_has(installation, each.name)})" for each in unmet)
    yield warning(
        "requirements-unmet",
        f"{installation.name} requires {listed}",
        "it was not released for these versions: the import or some functions may fail",
        Remedy(
            text="install what it requires",
            command=installation.pip("install", *(f"{each.name}{each.specifier}" for each in unmet)),
        ),
        Remedy(text="try the import", command=f"envbuilder doctor --python {installation.installed.python} --import"),
    )


def keras_unfit(installation: Installation) -> Iterator[Finding]:
    """Report a stand-alone Keras that is known not to work with this TensorFlow."""
    release, rule = installation.installed.release, _refusal_of_keras(installation)
    if release is None or rule is None:
        return
    other = installation.catalog.keras.newest(Version(release.public), _ANY)
    if other:
        remedy = _pip(installation, KERAS, f"=={other[0]}", text=f"Keras {other[0]} is compatible with it")
    else:
        remedy = Remedy(
            text="use tf.keras instead of keras in the program", command=installation.pip("uninstall", "-y", KERAS)
        )
    yield problem(
        "keras-unfit",
        f"Keras {installation.installed.version(KERAS)} does not work with {installation.name}: {rule.reason}",
        "programs that import keras fail",
        remedy,
    )


def _refusal_of_keras(installation: Installation) -> KerasRule | None:
    """Return the rule that excludes the installed Keras; None if it works, or nothing is known."""
    release, keras = installation.installed.release, installation.installed.version(KERAS)
    rule = installation.catalog.keras.rule(keras, Version(release.public)) if release and keras else None
    return None if rule is None or rule.works else rule


def not_in_catalog(installation: Installation) -> Iterator[Finding]:
    """Report a TensorFlow that is not in the catalog."""
    if installation.installed.is_rocm_build:
        seen, effect = (
            f"{installation.name} is built for AMD's GPUs (ROCm)",
            "the catalog has builds for NVIDIA's GPUs only",
        )
    elif installation.installed.has_files and installation.installed.release is None:
        seen, effect = "the release of TensorFlow is unknown: it has no metadata", "its packages are not checked"
    elif installation.installed.release and installation.row is None:
        seen, effect = f"the catalog has no release like {installation.name}", "compatible versions are not known"
    else:
        return
    yield note("tensorflow-not-in-catalog", seen, effect)


def _breaking(installation: Installation) -> dict[str, Breakage]:
    """Return the packages that are known to break the import, by name."""
    known = () if installation.is_own_build else installation.catalog.advisories
    every = [breakage for advisory in known for breakage in advisory.breaks]
    return {each.package: each for each in every if _hits(installation, each)}


def _hits(installation: Installation, breakage: Breakage) -> bool:
    release, version = installation.installed.release, installation.installed.version(breakage.package)
    if release is None or version is None or not breakage.tensorflow.contains(release.public, prereleases=True):
        return False
    return breakage.versions.contains(version, prereleases=True)


def _all(specifier: SpecifierSet) -> SpecifierSet:
    """Return the same range, with the pre-releases in it."""
    return SpecifierSet(str(specifier), prereleases=True)


def _requirements(installation: Installation) -> tuple[Requirement, ...]:
    """Return the requirements in TensorFlow's metadata for this interpreter; unreadable ones are left out."""
    framework = installation.installed.framework
    read = [_parsed(text) for text in framework.requires] if framework else []
    return tuple(each for each in read if each and each.name != TENSORFLOW and _is_for(installation, each))


def _parsed(text: str) -> Requirement | None:
    try:
        found = Requirement(text)
    except InvalidRequirement:
        return None
    found.name = found.name.lower().replace("_", "-")
    return found


def _is_for(installation: Installation, requirement: Requirement) -> bool:
    interpreter = installation.installed.interpreter
    if requirement.marker is None or interpreter is None:
        return requirement.marker is None
    environment = {
        "python_version": interpreter.version.series,
        "python_full_version": str(interpreter.version),
        "implementation_name": interpreter.implementation.lower(),
        "platform_python_implementation": interpreter.implementation,
        "platform_machine": interpreter.machine,
        "platform_system": "Linux",
        "sys_platform": "linux",
        "os_name": "posix",
        "extra": "",
    }
    try:
        return requirement.marker.evaluate(environment)
    except UndefinedEnvironmentName:
        return False


def _is_unmet(installation: Installation, requirement: Requirement) -> bool:
    installed = installation.installed.packages.get(requirement.name)
    if installed is None:
        return True
    version = version_of(installed.version)
    return version is not None and version not in _all(requirement.specifier)


def _has(installation: Installation, name: str) -> str:
    found: Distribution | None = installation.installed.packages.get(name)
    return f"{found.version} is installed" if found else "not installed"


def _allowed(installation: Installation, name: str) -> SpecifierSet:
    """Return the allowed versions of a package: the row's bound, and TensorFlow's requirement."""
    bounds = [Requirement(each.requirement) for each in (installation.row.constraints if installation.row else ())]
    every = [each.specifier for each in (*bounds, *_requirements(installation)) if each.name == name]
    allowed = _ANY
    for specifier in every:
        allowed &= specifier
    return allowed


def _pip(installation: Installation, name: str, versions: str, *, text: str = "") -> Remedy:
    return Remedy(text=text or f"install a {name} that fits", command=installation.pip("install", f"{name}{versions}"))
