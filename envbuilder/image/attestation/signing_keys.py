"""ECDSA keys on the curve P-256 in PEM files, as cosign's signatures use them; openssl does the arithmetic.

Source: https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md, "Signature Schemes"; the form of a public
key: https://www.rfc-editor.org/rfc/rfc5480, section 2.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.errors import ToolFailed, ToolMissing, UsageError

PASSWORD_VARIABLE = "COSIGN_PASSWORD"  # noqa: S105  the name of a variable, that of cosign
"""Variable with the password of an encrypted key."""

_P256 = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d03010703420004")
"""Start of every public key on P-256 in DER: identifiers of algorithm and curve, and of an uncompressed point."""

_PUBLIC_BYTES = len(_P256) + 64
_LARGEST = 1 << 16
_PUBLIC = re.compile(r"\s*-----BEGIN PUBLIC KEY-----\s([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----\s*")
_PRIVATE = re.compile(r"-----BEGIN (?:EC |ENCRYPTED )?PRIVATE KEY-----")
_COSIGN = re.compile(r"-----BEGIN ENCRYPTED (?:COSIGN|SIGSTORE) PRIVATE KEY-----")
_ENCRYPTED = re.compile(r"-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED", re.MULTILINE)
_MAKE = "make one: `openssl ecparam -name prime256v1 -genkey -noout -out KEY`"


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key."""

    der: bytes

    @property
    def fingerprint(self) -> str:
        """`sha256:…` of the key in DER: `openssl pkey -pubin -in PUBLIC -outform DER | sha256sum`."""
        return f"sha256:{hashlib.sha256(self.der).hexdigest()}"

    def verifies(self, content: bytes, signature: bytes) -> bool:
        """Return True if a signature in DER is one of some content by this key.

        Raises:
            ToolMissing: There is no openssl.
        """
        with tempfile.TemporaryDirectory(prefix="envbuilder-signature-") as folder:
            known, given = Path(folder, "public.der"), Path(folder, "signature")
            known.write_bytes(self.der)
            given.write_bytes(signature)
            command = ["dgst", "-sha256", "-verify", str(known), "-keyform", "DER", "-signature", str(given)]
            return _run(command, content, None).returncode == 0


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key in a file.

    Attributes:
        environ: Environment of the process, with the password of an encrypted key.
    """

    path: Path
    public: PublicKey
    environ: Mapping[str, str]

    def sign(self, content: bytes) -> bytes:
        """Return a signature of some content in DER; each call returns another one.

        Raises:
            ToolFailed: The key cannot be used.
        """
        return _output(["dgst", "-sha256", "-sign", str(self.path), *_password(self.environ)], content, self)


def public_key(path: Path) -> PublicKey:
    """Return the key of a PEM file with a public key.

    Raises:
        UsageError: It cannot be read, or is not a public key on P-256.
    """
    found = _PUBLIC.fullmatch(_text(path))
    hint = "`openssl pkey -in KEY -pubout` prints the public key of KEY, `cosign public-key --key KEY` that of cosign"
    if found is None:
        raise UsageError(f"{path} is not a public key in PEM", hint=hint)
    try:
        return _checked(base64.b64decode(found[1]), path)
    except binascii.Error as error:
        raise UsageError(f"{path} is not a public key in PEM: {error}", hint=hint) from error


def signing_key(path: Path, *, environ: Mapping[str, str]) -> SigningKey:
    """Return the key of a PEM file with a private key.

    `PASSWORD_VARIABLE` of the environment is the password of an encrypted key.

    Raises:
        UsageError: It cannot be read, or is not a private key on P-256; or only cosign can read it.
        ToolMissing: There is no openssl.
        ToolFailed: openssl refuses the key, such as for a wrong password.
    """
    text = _text(path)
    if _COSIGN.search(text):
        raise UsageError(
            f"{path} is encrypted in cosign's own format, which only cosign reads",
            hint=f"sign with it: `cosign sign --key {path} HOST/NAME@DIGEST`, which `verify --key` accepts; or {_MAKE}",
        )
    if not _PRIVATE.search(text):
        raise UsageError(f"{path} is not a private key in PEM", hint=_MAKE)
    unchecked = SigningKey(path, PublicKey(b""), environ)
    der = _output(["pkey", "-in", str(path), "-pubout", "-outform", "DER", *_password(environ)], b"", unchecked)
    return SigningKey(path, _checked(der, path), environ)


def is_encrypted(path: Path) -> bool:
    """Return True if a file holds a private key that needs a password."""
    return _ENCRYPTED.search(_text(path)) is not None


def _checked(der: bytes, path: Path) -> PublicKey:
    if len(der) != _PUBLIC_BYTES or not der.startswith(_P256):
        raise UsageError(f"{path} is not an ECDSA key on the curve P-256", hint=_MAKE)
    return PublicKey(der)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(_LARGEST).decode("ascii", "replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}", hint="specify a key in PEM") from error


def _password(environ: Mapping[str, str]) -> Sequence[str]:
    return ("-passin", f"env:{PASSWORD_VARIABLE}") if PASSWORD_VARIABLE in environ else ()


def _output(command: Sequence[str], content: bytes, key: SigningKey) -> bytes:
    ended = _run(command, content, key.environ)
    if ended.returncode:
        lines = ended.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        message = "".join(character for character in lines[0] if character.isprintable())[:200]
        raise ToolFailed(
            f"openssl cannot use the key {key.path}: {message}",
            hint=f"check the password ({PASSWORD_VARIABLE}), or {_MAKE}",
        )
    return ended.stdout


def _run(
    command: Sequence[str], content: bytes, environ: Mapping[str, str] | None
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["openssl", *command],
            input=content,
            env=None if environ is None else dict(environ),
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise ToolMissing("the openssl program is missing", hint="`apt-get install openssl`") from error
