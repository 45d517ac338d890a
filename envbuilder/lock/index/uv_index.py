"""Package index accessed through uv, with its configuration, credentials, proxies and certificates."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import unquote, urlsplit

from envbuilder.core.errors import NotOnIndex, SourceUnreachable, ToolFailed
from envbuilder.core.json_fields import number, record, records, text
from envbuilder.core.uv import Uv, index_is_silent, read_pylock, unknown_form
from envbuilder.core.work_directories import work_directory
from envbuilder.lock.closures import Closure
from envbuilder.lock.index.index import IndexFile, Listed

_NO_SOLUTION = "No solution found"
_PYTHONS = tuple(f"3.{minor}" for minor in range(6, 15))
"""A release that needs a newer Python is not listed for an older one; uv supports none before 3.6."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UvIndex:
    """Index that runs `uv pip compile` to list files and their hashes."""

    uv: Uv

    def files(self, package: str, version: str) -> tuple[IndexFile, ...]:
        """See `Index.files`."""
        for python in _PYTHONS:
            listed = self._listed([f"{package}=={version}"], "--universal", "--python-version", python)
            if listed is not None:
                return tuple(sorted(listed, key=lambda file: file.file))
        return ()

    def locate(self, wanted: Sequence[Listed], python: str) -> tuple[IndexFile, ...]:
        """See `Index.locate`.

        All files are requested at once; if a release is missing, uv lists none, and they are requested one by one.
        """
        together = self._about(wanted, python)
        found = {file.sha256: file for file in together or ()}
        if together is None:
            answers = [self._about((each,), python) or () for each in wanted]
            found = {file.sha256: file for answer in answers for file in answer}
        gone = tuple(each.file for each in wanted if each.sha256 not in found)
        if gone:
            raise NotOnIndex(gone)
        return tuple(found[each.sha256] for each in wanted)

    def _about(self, wanted: Sequence[Listed], python: str) -> tuple[IndexFile, ...] | None:
        """Return every file of the releases of some files; None if a release is missing.

        A name may occur twice, to install and as a build dependency; uv accepts one version at a time.
        """
        found: list[IndexFile] = []
        left = list(wanted)
        while left:
            batch = {each.name: each for each in reversed(left)}
            left = [each for each in left if batch[each.name] is not each and each.version != batch[each.name].version]
            listed = self._of_releases(batch.values(), python)
            if listed is None:
                return None
            found += listed
        return tuple(found)

    def still_there(self, closure: Closure) -> frozenset[tuple[str, str]]:
        """See `Index.still_there`.

        All packages are requested at once; if one is missing, uv lists none, and they are requested one by one.
        """
        fresh = partial(self._of_releases, python=str(closure.python), more=("--refresh",))
        together = fresh(closure.packages)
        built = fresh(closure.build) if closure.build else []
        if together is None or built is None:
            answers = [fresh((each,)) or [] for each in (*closure.packages, *closure.build)]
            together, built = [file for answer in answers for file in answer], []
        return frozenset((file.file, file.sha256) for file in (*together, *built))

    def _of_releases(
        self, files: Collection[Listed], python: str, more: tuple[str, ...] = ()
    ) -> list[IndexFile] | None:
        """Return every file of the releases of some files; None if a release is missing."""
        sources = [option for each in files if not each.is_wheel for option in ("--no-binary", each.name)]
        pins = [f"{each.name}=={each.version}" for each in files]
        return self._listed(pins, *more, "--universal", "--python-version", python, *sources)

    def _listed(self, pins: list[str], *options: str) -> list[IndexFile] | None:
        """Return every file of some releases; None if a release is missing."""
        with work_directory("index") as folder:
            wanted, output = folder / "requirements.in", folder / "pylock.toml"
            wanted.write_text("".join(f"{pin}\n" for pin in pins), encoding="utf-8")
            command = ["pip", "compile", str(wanted), "--no-deps", "--only-binary", ":all:"]
            command += ["--format", "pylock.toml", "--output-file", str(output), "--quiet", "--no-header", *options]
            failure = self.uv.run(command)
            if failure is None:
                return list(_files(read_pylock(output.read_text(encoding="utf-8"))))
        if index_is_silent(failure):
            raise SourceUnreachable(
                f"the package index does not answer:\n{failure}",
                hint="check network, proxy and CA bundle (SSL_CERT_FILE), or name an index: --index URL",
            )
        if _NO_SOLUTION not in failure:
            raise ToolFailed(f"uv failed:\n{failure}", hint="run the command again; if it fails again, report a bug")
        return None


def _files(pylock: dict[str, object]) -> Iterator[IndexFile]:
    for package in records(pylock, "packages"):
        for entry in (*records(package, "wheels"), record(package, "sdist")):
            digest, url = text(entry, "hashes", "sha256"), text(entry, "url")
            if digest and url:
                name = unquote(text(entry, "name") or _last_part(url))
                if "/" in name or "\0" in name or name.startswith("."):
                    raise unknown_form()
                yield IndexFile(file=name, sha256=digest, url=url, size=max(number(entry, "size"), 0))


def _last_part(url: str) -> str:
    try:
        return urlsplit(url).path.rpartition("/")[2]
    except ValueError:
        raise unknown_form() from None
