"""Commands in an Apptainer (or Singularity) image."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.errors import ToolFailed, ToolMissing
from envbuilder.oci.runtime.command import RunResult

_PROGRAMS = ("apptainer", "singularity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Apptainer:
    """The installed Apptainer or Singularity.

    Attributes:
        program: Its path.
    """

    program: str

    def run(self, image: Path, command: tuple[str, ...], *, gpus: bool, timeout: float) -> RunResult:
        """Run a command in an image, with a clean environment and without the home directory of the user.

        Args:
            image: A `.sif` or squashfs file.
            command: Program and arguments.
            gpus: True to give it the GPUs and the driver of this host (`--nv`).
            timeout: Seconds after which it is killed.

        Raises:
            ToolFailed: It cannot be started.
        """
        options = ["--cleanenv", "--no-home", *(["--nv"] if gpus else [])]
        try:
            done = subprocess.run(
                [self.program, "exec", *options, str(image), *command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired as error:
            return RunResult(status=137, stdout=error.stdout or b"", stderr=error.stderr or b"", timed_out=True)
        except OSError as error:
            raise ToolFailed(f"{self.program} cannot be started: {error}") from error
        return RunResult(status=done.returncode, stdout=done.stdout, stderr=done.stderr, timed_out=False)


def find_apptainer(search_path: str) -> Apptainer:
    """Return the installed program.

    Raises:
        ToolMissing: It is not installed.
    """
    for name in _PROGRAMS:
        program = shutil.which(name, path=search_path)
        if program:
            return Apptainer(program=program)
    raise ToolMissing(
        "neither apptainer nor singularity is installed", hint="install apptainer, or validate the OCI image"
    )
