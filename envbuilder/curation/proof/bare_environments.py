"""Temporary virtual environments on this host: exactly the files of a closure, installed by hash."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from envbuilder.core.errors import SourceUnreachable, ToolFailed
from envbuilder.core.uv import Uv, index_is_silent
from envbuilder.core.versions import Release
from envbuilder.curation.proof.interpreters import HostPython, HostPythons
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.lock.closures import Chosen, Closure

_SHOWN_LINES = 12
_TIME_LIMIT = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BareEnvironments:
    """Makes virtual environments with uv; the `BareHost` of `prove`.

    Attributes:
        look: Runs the probe with the interpreter of an environment, without a GPU.
        uv: The program and its settings; its cache is in `work`, and removed with it.
        work: Directory for environments and downloads; everything in it is ours, and removed again.
    """

    pythons: HostPythons
    look: Callable[[Path], Facts]
    uv: Uv
    work: Path

    def find(self, python: Release) -> HostPython | None:
        """See `BareHost.find`."""
        return self.pythons.find(python)

    def run(self, python: HostPython, closure: Closure, package: str, installed: Callable[[], None]) -> Facts:
        """See `BareHost.run`."""
        try:
            with self.made(python, closure) as environment:
                installed()
                return self.look(environment)
        finally:
            # TensorFlow is large, and each row has its own. What cannot be removed now is removed by `clear`.
            self.uv.run(["cache", "clean", "--quiet", package], timeout=_TIME_LIMIT)

    @contextmanager
    def made(self, interpreter: HostPython, closure: Closure) -> Iterator[Path]:
        """Yield the interpreter of an environment with the files of a closure; it is removed when the block ends.

        Yields:
            Its interpreter.

        Raises:
            SourceUnreachable: The package index does not answer, or a file is gone.
            ToolFailed: Something cannot be installed.
        """
        self.work.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.work, prefix="environment-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            python = folder / "venv" / "bin" / "python"
            self._run(["venv", "--quiet", "--no-project", "--python", str(interpreter.path), str(folder / "venv")])
            wheels = [each for each in closure.packages if each.is_wheel]
            sources = [each for each in closure.packages if not each.is_wheel]
            self._install(folder, python, wheels)
            if sources:
                tools = folder / "build-tools"
                self._install(folder, python, closure.build, "--target", str(tools))
                self._install(folder, python, sources, "--no-build-isolation", more={"PYTHONPATH": str(tools)})
            yield python

    def clear(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.work, ignore_errors=True)

    def _install(
        self,
        folder: Path,
        python: Path,
        packages: Iterable[Chosen],
        *options: str,
        more: Mapping[str, str] | None = None,
    ) -> None:
        listing = folder / "requirements.txt"
        lines = [f"{each.name}=={each.version} --hash=sha256:{each.sha256}\n" for each in packages]
        listing.write_text("".join(lines), encoding="utf-8")
        command = ["pip", "install", "--quiet", "--python", str(python), "--no-deps", "--require-hashes", *options]
        self._run([*command, "--requirements", str(listing)], more)

    def _run(self, arguments: list[str], more: Mapping[str, str] | None = None) -> None:
        uv = replace(self.uv, environ={**self.uv.environ, **(more or {})})
        failure = uv.run(arguments, timeout=_TIME_LIMIT)
        if failure is not None:
            raise _failure(failure)


def _failure(output: str) -> SourceUnreachable | ToolFailed:
    tail = "\n".join(output.splitlines()[-_SHOWN_LINES:])
    if index_is_silent(output):
        return SourceUnreachable(
            f"the package index does not answer:\n{tail}", hint="check network, proxy and CA bundle (SSL_CERT_FILE)"
        )
    return ToolFailed(f"the packages cannot be installed:\n{tail}")
