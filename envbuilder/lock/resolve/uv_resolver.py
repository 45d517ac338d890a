"""Resolver that runs uv: hashes, a cut-off day, and an interpreter that is not on this machine."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

from envbuilder.core.errors import ResolutionFailed, SourceUnreachable, ToolMissing
from envbuilder.core.names import distribution_file
from envbuilder.core.references import normalized
from envbuilder.core.uv import Uv, index_is_silent, read_pylock, unknown_form
from envbuilder.core.uv_process import TIME_LIMIT
from envbuilder.core.versions import Release
from envbuilder.core.work_directories import work_directory
from envbuilder.lock.closures import Chosen
from envbuilder.lock.resolve.resolver import Resolution
from envbuilder.lock.resolve.tensorflow_distributions import DISTRIBUTIONS
from envbuilder.lock.resolve.wheel_files import best
from envbuilder.oci.runtime.interpreter_guard import Guard

BUILD_TOOLS = ("setuptools", "wheel")
BUILD_TOOLS_CUTOFF = date(2025, 1, 1)
"""Cut-off day of build tools. Old source distributions need newer build tools than the cut-off of their environment
allows: setuptools of 2019 does not run on the interpreters of 2025. A fixed day keeps them reproducible."""

_MARKERS = re.compile(r"\{[^{}]*\}")
"""Markers that uv adds to names if a resolution forks; they do not matter for the fixed platform of an image."""

_UV_GLIBC_MINORS: tuple[int, ...] = (17, *range(28, 41))


@dataclass(frozen=True, slots=True, kw_only=True)
class UvResolver:
    """Resolver that runs `uv pip compile`.

    Attributes:
        guard: Returns the sandbox of build scripts; None to run them without one. Called only for source distributions,
            since uv executes no code of wheels.
        seconds: Time for one resolution.
    """

    uv: Uv
    guard: Callable[[], Guard | None]
    seconds: float = TIME_LIMIT

    def resolve(self, wanted: Resolution) -> tuple[Chosen, ...]:
        """See `Resolver.resolve`."""
        with work_directory("resolve") as folder:
            self._write_inputs(folder, wanted)
            output = folder / "pylock.toml"
            with self._guarded(folder, wanted) as (uv, before, more):
                failure = uv.run([*self._command(folder, output, wanted), *more], timeout=self.seconds, before=before)
            if failure is not None:
                raise _failure(failure, wanted)
            return _chosen(read_pylock(output.read_text(encoding="utf-8")), wanted)

    def _write_inputs(self, folder: Path, wanted: Resolution) -> None:
        files = {
            "requirements.in": wanted.requirements,
            "constraints.txt": (*wanted.constraints, *_stand_ins(folder, wanted)),
            "overrides.txt": tuple(f"{name} ; python_version < '0'" for name in wanted.leave_out),
        }
        for name, lines in files.items():
            (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        if wanted.preferred:
            (folder / "pylock.toml").write_text(_preferences(wanted.preferred), encoding="utf-8")

    def _command(self, folder: Path, output: Path, wanted: Resolution) -> list[str]:
        command = [
            "pip", "compile", str(folder / "requirements.in"),
            "--constraints", str(folder / "constraints.txt"),
            "--overrides", str(folder / "overrides.txt"),
            "--python-version", wanted.python.series,
            "--python-platform", f"x86_64-manylinux_2_{_platform_minor(wanted.glibc)}",
            "--exclude-newer", _end_of(wanted.cutoff),
            "--format", "pylock.toml", "--output-file", str(output),
            "--quiet", "--no-header", "--only-binary", ":all:",
        ]  # fmt: skip
        for name in wanted.source_builds:
            command += ["--no-binary", name]
        if wanted.source_builds and wanted.cutoff < BUILD_TOOLS_CUTOFF:
            for name in BUILD_TOOLS:
                command += ["--exclude-newer-package", f"{name}={_end_of(BUILD_TOOLS_CUTOFF)}"]
        return command

    @contextmanager
    def _guarded(self, folder: Path, wanted: Resolution) -> Iterator[tuple[Uv, tuple[str, ...], tuple[str, ...]]]:
        """Yield uv with a cache of its own for build scripts, words before its command, and its last arguments."""
        guard = self.guard() if wanted.source_builds else None
        if guard is None:
            yield self.uv, (), ()
            return
        interpreter = self.uv.find_python(wanted.python.series)
        if interpreter is None:
            raise ToolMissing(
                "this machine has no Python to build source distributions", hint="apt-get install python3"
            )
        cache = folder / "cache"
        cache.mkdir()
        with guard.covering(interpreter, cache) as before:
            yield replace(self.uv, cache=cache), before, ("--python", str(interpreter))


def _stand_ins(folder: Path, wanted: Resolution) -> Iterator[str]:
    """Yield constraints that bind each provided distribution to an empty wheel of its version.

    Unlike an override, a constraint with an address keeps the version check: uv refuses a package that requires another
    release. Source: https://docs.astral.sh/uv/concepts/resolution/, on dependency overrides and on direct references in
    constraints.
    """
    for pin in wanted.provided:
        name, _, version = pin.partition("==")
        yield f"{name} @ {write_stand_in(folder, name, version).as_uri()}"


def _failure(output: str, wanted: Resolution) -> ResolutionFailed | SourceUnreachable:
    explanation = "\n".join(line for line in output.splitlines() if line.strip() and not line.startswith("warning:"))
    if index_is_silent(output) and "No solution found" not in output:
        return SourceUnreachable(
            f"the package index does not answer:\n{explanation}",
            hint="check network, proxy and CA bundle (SSL_CERT_FILE), or name an index under `sources:`",
        )
    explanation = _MARKERS.sub("", explanation)
    for_whom = f"for Python {wanted.python} as of {wanted.cutoff}"
    if "No solution found" not in output:
        return ResolutionFailed(
            f"the packages cannot be resolved {for_whom}:\n{explanation}",
            hint="choose another version of the package that uv names, or leave it out",
        )
    problem = f"the packages conflict {for_whom}"
    version = _provided_in(explanation, wanted)
    if version:
        return ResolutionFailed(
            f"{problem}; the environment has TensorFlow {version}, in all its distributions:\n{explanation}",
            hint="choose versions for this TensorFlow, or another environment: `envbuilder list`",
        )
    return ResolutionFailed(
        f"{problem}:\n{explanation}",
        hint="relax the versions of your packages, set a later `cutoff:`, or list a pure Python package without wheels "
        "under `source_builds:`",
    )


def _provided_in(explanation: str, wanted: Resolution) -> str:
    """Return the version of a provided TensorFlow that uv's explanation names; empty if it names none."""
    for pin in wanted.provided:
        name, _, version = pin.partition("==")
        if name in DISTRIBUTIONS and re.search(rf"(?<![\w.-]){re.escape(name)}[=<>~!]", explanation):
            return version
    return ""


def _chosen(pylock: dict[str, object], wanted: Resolution) -> tuple[Chosen, ...]:
    provided = {pin.partition("==")[0] for pin in wanted.provided}
    packages = _list(pylock.get("packages", []))
    picked = [_pick(each, wanted) for each in packages if normalized(str(each["name"])) not in provided]
    return tuple(sorted(picked, key=lambda chosen: chosen.name))


def _pick(package: dict[str, object], wanted: Resolution) -> Chosen:
    name, version = normalized(str(package["name"])), str(package["version"])
    files = dict(map(_file, _list(package.get("wheels", []))))
    file = best(files, wanted.python, wanted.glibc)
    sdist = package.get("sdist")
    if file is None and isinstance(sdist, dict) and name in wanted.source_builds:
        file, sha256 = _file(sdist)
        files[file] = sha256
    if file is None:
        raise ResolutionFailed(
            f"{name} {version} has no wheel for Python {wanted.python} and glibc {wanted.glibc}",
            hint=f"list {name} under `source_builds:` to build it from source",
        )
    try:
        return Chosen(name=name, version=version, file=distribution_file(file), sha256=files[file])
    except ValueError as error:
        raise ResolutionFailed(f"{name} {version} cannot be locked: {error}", hint="use another index") from error


def _file(entry: dict[str, object]) -> tuple[str, str]:
    """Return name and sha256 of a file."""
    hashes = entry.get("hashes")
    if not isinstance(hashes, dict) or "sha256" not in hashes:
        raise ResolutionFailed(f"the index lists no sha256 for {entry.get('url', 'a file')}", hint="use another index")
    file = str(entry.get("name") or urlsplit(str(entry["url"])).path.rsplit("/", 1)[-1])
    return unquote(file), str(hashes["sha256"])


def _list(value: object) -> list[dict[str, object]]:
    """Return a list of tables in uv's output; raise an error for any other shape."""
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise unknown_form()
    return value


def _preferences(pins: tuple[str, ...]) -> str:
    """Return a lock file with versions only; uv prefers the versions that its output file already has."""
    blocks = ['lock-version = "1.0"\ncreated-by = "envbuilder"\n']
    for pin in pins:
        name, _, version = pin.partition("==")
        blocks.append(f'[[packages]]\nname = "{name}"\nversion = "{version}"\nwheels = []\n')
    return "\n".join(blocks)


def _end_of(day: date) -> str:
    """Return the first moment after a day in UTC, since uv ends a bare day in the time zone of the machine."""
    return f"{(day + timedelta(days=1)).isoformat()}T00:00:00Z"


def _platform_minor(glibc: Release) -> int:
    wanted = max(glibc.head(2)[1], _UV_GLIBC_MINORS[0])
    return max(minor for minor in _UV_GLIBC_MINORS if minor <= wanted)


def write_stand_in(folder: Path, name: str, version: str) -> Path:
    """Write a wheel without files or requirements; return its path.

    Source: https://packaging.python.org/en/latest/specifications/binary-distribution-format/
    """
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: envbuilder\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(f"{info}/RECORD", "")
    return path
