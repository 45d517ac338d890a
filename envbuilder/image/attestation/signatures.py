"""Detached signatures of files by SSH keys, made and checked by ssh-keygen."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from envbuilder.core.errors import ToolFailed, ToolMissing, UsageError, VerificationFailed
from envbuilder.core.files import replacing

SUFFIX = ".sig"

_NAMESPACE = "envbuilder-bundle"
"""Namespace of the signatures; a signature made for another purpose is refused. Source: PROTOCOL.sshsig of OpenSSH."""

_SIGNER = "envbuilder"
_LARGEST = 1 << 16
"""Maximum size of a key or a signature in bytes; RSA keys of 16,384 bits have about 3 KiB."""

_PUBLIC_KEY = re.compile(
    r"(?P<key>(?:ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)|sk-ssh-ed25519@openssh\.com|"
    r"sk-ecdsa-sha2-nistp256@openssh\.com) [A-Za-z0-9+/]{16,8192}={0,2})(?: .*)?"
)
_FINGERPRINT = re.compile(r"key (SHA256:[A-Za-z0-9+/=]+)")


def sign(path: Path, key: Path, *, environ: Mapping[str, str]) -> Path:
    """Sign a file; the signature is written beside it, with the suffix `.sig`.

    Args:
        path: File to sign.
        key: Private SSH key, or a public one whose private key is in the agent.
        environ: Environment of the process, for the agent and for the passphrase prompt.

    Raises:
        ToolMissing: There is no ssh-keygen.
        ToolFailed: ssh-keygen refuses the key.
    """
    signature = path.with_name(path.name + SUFFIX)
    with path.open("rb") as stream:
        ended = _run(["sign", "-f", str(key), "-n", _NAMESPACE], stream, environ)
    if ended.returncode:
        raise ToolFailed(
            f"{path} cannot be signed with {key}: {_message(ended)}",
            hint="specify a private SSH key; `ssh-keygen -t ed25519 -f KEY` makes one",
        )
    with replacing(signature) as out:
        out.write(ended.stdout)
    return signature


def verify(stream: BinaryIO, path: Path, key: Path, *, environ: Mapping[str, str]) -> str:
    """Raise VerificationFailed unless a file was signed with one of some keys.

    Args:
        stream: The open file, at its beginning; the caller reads the verified bytes from the same stream.
        path: Its path; the signature is beside it.
        key: File of public SSH keys, one on each line.
        environ: Environment of the process.

    Returns:
        Fingerprint of the key that signed.

    Raises:
        UsageError: The file contains no public keys.
        VerificationFailed: There is no signature, or one by another key or of another file.
        ToolMissing: There is no ssh-keygen.
    """
    signers = _signers(key)
    signature = path.with_name(path.name + SUFFIX)
    hint = "ask its author for the signature and the public key: `envbuilder bundle --sign KEY` writes it"
    try:
        content = _read(signature)
    except FileNotFoundError:
        raise VerificationFailed(f"{path} is not signed: {signature} not found", hint=hint) from None
    except OSError as error:
        raise VerificationFailed(f"{signature} cannot be read: {error.strerror or error}", hint=hint) from error
    with tempfile.TemporaryDirectory(prefix="envbuilder-signature-") as folder:
        known, given = Path(folder, "signers"), Path(folder, "signature")
        known.write_text(signers, encoding="ascii")
        given.write_bytes(content)
        options = ["verify", "-f", str(known), "-I", _SIGNER, "-n", _NAMESPACE, "-s", str(given)]
        ended = _run(options, stream, environ)
    found = _FINGERPRINT.search(ended.stdout.decode(errors="replace"))
    if ended.returncode or found is None:
        raise VerificationFailed(f"{path} is not signed by a key of {key}: {_message(ended)}", hint=hint)
    return found[1]


def _signers(key: Path) -> str:
    """Return the keys of a file in the form that ssh-keygen compares with, without their options."""
    try:
        lines = _read(key).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{key} cannot be read: {error}", hint="specify a file of public SSH keys") from error
    keys = [match["key"] for line in lines if (match := _PUBLIC_KEY.fullmatch(line.strip()))]
    if not keys or len(keys) != len([line for line in lines if line.strip() and not line.startswith("#")]):
        raise UsageError(
            f"{key} is not a file of public SSH keys, one per line",
            hint="`ssh-keygen -y -f KEY` prints the public key of KEY",
        )
    return "".join(f'{_SIGNER} namespaces="{_NAMESPACE}" {each}\n' for each in keys)


def _read(path: Path) -> bytes:
    if not path.is_file():
        raise FileNotFoundError(2, "no such file", str(path))
    with path.open("rb") as stream:
        return stream.read(_LARGEST)


def _run(options: Sequence[str], stream: BinaryIO, environ: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["ssh-keygen", "-Y", *options], stdin=stream, env=dict(environ), capture_output=True, check=False
        )
    except FileNotFoundError as error:
        raise ToolMissing("the ssh-keygen program is missing", hint="`apt-get install openssh-client`") from error


def _message(ended: subprocess.CompletedProcess[bytes]) -> str:
    """Return the last line that ssh-keygen wrote, without control characters."""
    lines = (ended.stderr or ended.stdout).decode(errors="replace").strip().splitlines() or ["no reason given"]
    return "".join(character for character in lines[-1] if character.isprintable())[:200]
