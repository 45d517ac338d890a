"""Errors with remedies, derived from the messages of a failed build."""

from __future__ import annotations

import re
from dataclasses import dataclass

from envbuilder.core.errors import BuildFailed, DiskFull, EnvbuilderError, SourceUnreachable, VerificationFailed
from envbuilder.image.builds import BUILD_HINT


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom:
    """A pattern that identifies a cause.

    Attributes:
        engine: Pattern in the engine's own message; None if only a step's output identifies the cause.
        output: Pattern in one of the last lines of the failed step; None if only the engine's message does.
        says: First words of its message.
    """

    engine: str | None
    output: str | None
    error: type[EnvbuilderError]
    says: str
    hint: str

    def fits(self, message: str, output: tuple[str, ...]) -> bool:
        """Return True if the pattern for the message, or that for the output, is found; case is ignored."""
        seen = self.engine is not None and re.search(self.engine, message, re.IGNORECASE) is not None
        return seen or any(self.output and re.search(self.output, line, re.IGNORECASE) for line in output)


_NO_SPACE = r"no space left on device"
_UNTRUSTED = (
    r"certificate verify failed|invalid peer certificate|x509: |SSL certificate problem|"
    r"server certificate verification failed|certificate verification failed"
)
_UNANSWERED = (
    r"error sending request|dns error|could not resolve|temporary failure (resolving|in name resolution)|"
    r"connection refused|failed to establish a new connection|network is unreachable|no route to host"
)
# The engine's message only: a step that prints "sh: nvcc: not found" does not lack its base.
_NO_BASE = (
    r"pull access denied|manifest unknown|manifest for .* not found|repository .* not found|"
    r"failed to (resolve source metadata|do request|fetch oauth token|authorize)|: not found$|"
    r"no such host|connection refused|i/o timeout|unauthorized|requested access to the resource is denied"
)

_NO_WHEEL = (
    r"Failed to build `|Failed building wheel for|Failed to install temporary CMake|CMake must be installed|"
    r"(command|unable to execute) '?\S*(gcc|g\+\+|cc|nvcc)(?!\w)"
)

# Ordered: a full disk also causes wrong checksums, and a wrong checksum is more serious than a slow network.
SYMPTOMS: tuple[Symptom, ...] = (
    Symptom(
        engine=_NO_SPACE,
        output=_NO_SPACE,
        error=DiskFull,
        says="the disk is full",
        hint="check `docker system df`, then free space with `docker builder prune`",
    ),
    Symptom(
        engine=r"digest mismatch|checksum mismatch|failed precondition: .*digest",
        output=r"hash (sum )?mismatch|computed checksums? did NOT match|^\S+: FAILED$",
        error=VerificationFailed,
        says="downloaded content does not match its digest",
        hint="the source changed since it was locked, or a proxy modifies it; to accept it, run `envbuilder lock`",
    ),
    Symptom(
        engine=_UNTRUSTED,
        output=_UNTRUSTED,
        error=SourceUnreachable,
        says="the certificate of a source is not trusted",
        hint="behind a proxy that re-signs TLS, set SSL_CERT_FILE to a CA bundle with the certificate of the proxy",
    ),
    Symptom(
        engine=None,
        output=_UNANSWERED,
        error=SourceUnreachable,
        says="a package source did not answer",
        hint="check the network and the proxy settings, or use a mirror of the index: --index URL",
    ),
    Symptom(
        engine=None,
        output=r"E: Version '.*' for '.*' was not found|E: Unable to locate package",
        error=SourceUnreachable,
        says="an OS package of the lock is no longer in the archive",
        hint="run `envbuilder lock`, or use an archive of that date: --debian-mirror URL",
    ),
    Symptom(
        engine=None,
        output=r"No solution found when resolving|was not found in the package registry|has no wheels with a matching",
        error=SourceUnreachable,
        says="a file of the lock is no longer on the package index",
        hint="use an index that has it (--index URL), or run `envbuilder lock`",
    ),
    Symptom(
        engine=None,
        output=_NO_WHEEL,
        error=BuildFailed,
        says="a package cannot be built from source",
        hint=BUILD_HINT,
    ),
    Symptom(
        engine=_NO_BASE,
        output=None,
        error=SourceUnreachable,
        says="the base image is not available",
        hint="create it with `envbuilder base bootstrap SUITE`, or use a mirror: --registry-mirror HOST[:PORT]",
    ),
)


def explain(message: str, *, step: str = "", output: tuple[str, ...] = ()) -> EnvbuilderError:
    """Return the error for a failed build.

    Args:
        message: The engine's message, unchanged.
        step: The failed step; empty if the engine did not report it.
        output: Last lines of that step's output, oldest first.

    Returns:
        Shape: The first match in `SYMPTOMS`; `BuildFailed` if none matches. All carry step, message and output.
    """
    for symptom in SYMPTOMS:
        if symptom.fits(message, output):
            story = _story(symptom.says, message, step, output)
            if symptom.error is BuildFailed:
                return BuildFailed(story, hint=symptom.hint, step=step)
            return symptom.error(story, hint=symptom.hint)
    return BuildFailed(_story("the build failed", message, step, output), step=step)


def _story(says: str, message: str, step: str, output: tuple[str, ...]) -> str:
    place = f" at {_short(step)}" if step else ""
    return "\n".join((f"{says}{place}", f"  {_short(message)}", *(f"  | {line}" for line in output)))


def _short(command: str) -> str:
    """Return a command on one line and without its mounts, which are the same for every step."""
    return " ".join(re.sub(r"--mount=\S+", "", command).split())
