"""Bare environments on this host: exactly the files of a closure, installed by hash, gone when they were looked at."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from envbuilder.errors import SourceUnreachable, ToolFailed
from envbuilder.model.closures import Chosen, Closure
from envbuilder.proving.interpreters import HostPython

_SHOWN_LINES = 12
_TIME_LIMIT = 3600.0
_UNREACHABLE = ("error sending request", "dns error", "Could not connect", "operation timed out", "Failed to fetch")


@dataclass(frozen=True, slots=True, kw_only=True)
class BareEnvironments:
    """Makes virtual environments with uv.

    Attributes:
        uv: The program.
        work: Folder for environments and downloads; everything in it is ours, and removed again.
        environ: Environment of uv: proxies, CA bundle and index come from here.
        index: Address of a package index; empty means uv's own configuration.
    """

    uv: Path
    work: Path
    environ: Mapping[str, str]
    index: str = ""

    @contextmanager
    def made(self, interpreter: HostPython, closure: Closure) -> Iterator[Path]:
        """An environment with the files of a closure, until the block ends.

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

    def forget(self, package: str) -> None:
        """Drop the downloads of one distribution: TensorFlow is large, and each row has its own."""
        self._run(["cache", "clean", "--quiet", package])

    def clear(self) -> None:
        """Drop everything."""
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
        environ = {
            **self.environ,
            **(more or {}),
            "UV_CACHE_DIR": str(self.work / "uv"),
            "UV_PYTHON_DOWNLOADS": "never",
            "NO_COLOR": "1",
        }
        if self.index:
            environ["UV_DEFAULT_INDEX"] = self.index
        try:
            done = subprocess.run(
                [str(self.uv), *arguments],
                env=environ,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_TIME_LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SourceUnreachable(f"uv did not end within {_TIME_LIMIT:.0f} s", hint="try again") from error
        if done.returncode:
            raise _failure(done.stderr)


def _failure(output: str) -> SourceUnreachable | ToolFailed:
    told = "\n".join(output.splitlines()[-_SHOWN_LINES:])
    if any(sign in output for sign in _UNREACHABLE):
        return SourceUnreachable(
            f"the package index does not answer:\n{told}", hint="check network, proxy and CA bundle (SSL_CERT_FILE)"
        )
    return ToolFailed(f"the packages cannot be installed:\n{told}")
