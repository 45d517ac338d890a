"""Registry credentials, from the files of Docker and podman and from credential helpers."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from envbuilder.core.errors import Fault, InvalidInput, ToolFailed, ToolMissing
from envbuilder.core.json_fields import Record, parsed, record, text

_HELPER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NOT_FOUND = "credentials not found in native keychain"
_NOBODY = "<token>"  # the user name of an identity token
_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A name and a password, or an identity token; never printed.

    Attributes:
        user: Empty with an identity token.
        password: Empty with an identity token.
        identity: Identity token, which the registry's token service exchanges for other tokens.
    """

    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    identity: str = field(default="", repr=False)

    @property
    def basic(self) -> str:
        """Name and password in the form of an `Authorization` header."""
        return base64.b64encode(f"{self.user}:{self.password}".encode()).decode()

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must not be printed."""
        return tuple(filter(None, (self.password, self.identity, self.basic if self.user else "")))


def login_files(environ: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Return the files that may hold registry credentials, in order of precedence; they need not exist.

    Source: containers-auth.json(5), https://docs.docker.com/reference/cli/docker/login/; read 2026-11.
    """
    named = environ.get("REGISTRY_AUTH_FILE")
    runtime = environ.get("XDG_RUNTIME_DIR")
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    return (
        *([Path(named)] if named else []),
        Path(environ.get("DOCKER_CONFIG") or home / ".docker") / "config.json",
        *([Path(runtime) / "containers" / "auth.json"] if runtime else []),
        config / "containers" / "auth.json",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryLogins:
    """Credentials of `docker login`, `podman login` and `skopeo login`.

    Attributes:
        files: Docker's `config.json` and the `auth.json` of others; the first that has a login decides.
        environ: Environment of the credential helpers, which are searched on its PATH.
        seconds: Timeout of a credential helper.
    """

    files: Sequence[Path]
    environ: Mapping[str, str]
    seconds: float = _SECONDS

    def of(self, host: str, repository: str = "") -> Credentials | None:
        """Return the credentials for a repository; None if there are none.

        Raises:
            InvalidInput: A file is not in the format of those programs.
            ToolMissing: A credential helper that a file names is not installed.
            ToolFailed: A credential helper failed, or timed out.
        """
        for path in self.files:
            config = _config(path)
            helper = text(config, "credHelpers", host) or text(config, "credsStore")
            found = self._asked(path, helper, host) if helper else None
            found = found or _stored(path, record(config, "auths"), f"{host}/{repository}/")
            if found:
                return found
        return None

    def _asked(self, path: Path, helper: str, host: str) -> Credentials | None:
        if not _HELPER_NAME.fullmatch(helper):
            raise _fault(path, "credsStore or credHelpers", "names no credential program")
        name = f"docker-credential-{helper}"
        program = shutil.which(name, path=self.environ.get("PATH"))
        if program is None:
            raise ToolMissing(
                f"{path} refers to the credential helper {name}, which is not on PATH",
                hint=f"install {name}, or remove it from that file and run `docker login {host}`",
            )
        hint = f"see what `echo {host} | {name} get` says"
        try:
            ran = subprocess.run(
                [program, "get"],
                input=host.encode(),
                capture_output=True,
                env=dict(self.environ),
                timeout=self.seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ToolFailed(f"{name} did not answer within {self.seconds:g} s", hint=hint) from None
        except OSError as error:
            raise ToolFailed(f"{name} cannot be started: {error.strerror}", hint=hint) from None
        if ran.returncode:
            if _NOT_FOUND in ran.stdout.decode(errors="replace"):
                return None
            # Its output may contain the secret.
            raise ToolFailed(f"{name} exited with status {ran.returncode}", hint=hint)
        return _parsed_credentials(record(parsed(ran.stdout)), name, hint)


def _config(path: Path) -> Record:
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise _fault(path, "", f"cannot be read: {error.strerror}") from None
    config = record(parsed(content))
    if not config and content.strip() != b"{}":
        raise _fault(path, "", "is not a JSON object")
    return config


def _stored(path: Path, auths: Record, wanted: str) -> Credentials | None:
    """Return the most specific entry for a repository, `HOST/NAME/`: `HOST/TEAM` takes precedence over `HOST`."""
    fitting = [name for name in auths if wanted.startswith(f"{_place_of(name)}/")]
    for name in sorted(fitting, key=lambda each: len(_place_of(each)), reverse=True):
        entry = record(auths, name)
        if entry and text(entry, "identitytoken"):
            return Credentials(identity=text(entry, "identitytoken"))
        if entry:
            return _decoded(path, entry, name)
    return None


def _decoded(path: Path, entry: Record, name: str) -> Credentials | None:
    user, password = text(entry, "username"), text(entry, "password")
    if text(entry, "auth"):
        try:
            user, colon, password = base64.b64decode(text(entry, "auth"), validate=True).decode().partition(":")
        except ValueError:
            colon = ""
        if not colon:
            raise _fault(path, f"auths[{name}].auth", "is not base64 of NAME:PASSWORD")
    return Credentials(user=user, password=password.rstrip("\0")) if user else None


def _fault(path: Path, place: str, problem: str) -> InvalidInput:
    fault = Fault(file=str(path), line=0, field=place, problem=problem)
    return InvalidInput((fault,), hint="fix that file, or run `docker login HOST` again")


def _parsed_credentials(answer: Record, name: str, hint: str) -> Credentials | None:
    user, secret = text(answer, "Username"), text(answer, "Secret")
    if not secret:
        if answer:
            return None
        raise ToolFailed(f"{name} printed no JSON object", hint=hint)
    return Credentials(identity=secret) if user == _NOBODY else Credentials(user=user, password=secret)


def _place_of(name: str) -> str:
    """Return the `HOST` or `HOST/PATH` of a key of `auths`; Docker writes some keys as addresses of an API.

    Example:
        >>> _place_of("https://registry.example/v1/"), _place_of("registry.example/team/")
        ('registry.example', 'registry.example/team')
    """
    plain = name.removeprefix("https://").removeprefix("http://")
    host, _, path = plain.partition("/")
    return host if plain != name or not path or path.rstrip("/") in {"v1", "v2"} else plain.rstrip("/")
