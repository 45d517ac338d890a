"""Signatures of package archives, checked against one keyring: by gpgv, else by sqv, its replacement in Debian 13.

Source: https://github.com/gpg/gnupg/blob/master/doc/DETAILS, section "Format of the --status-fd output";
https://www.rfc-editor.org/rfc/rfc4880, sections 7 and 9; the keys and
signatures of bullseye, bookworm and trixie, read 2026-11-22.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from envbuilder.core.errors import ToolMissing, UsageError, VerificationFailed
from envbuilder.image.base.deb.distributions import DEBIAN, DebDistribution

_TIMEOUT = 30.0
_HEAD = 64
_BEGIN, _SIGNATURE, _END = (
    "-----BEGIN PGP SIGNED MESSAGE-----",
    "-----BEGIN PGP SIGNATURE-----",
    "-----END PGP SIGNATURE-----",
)
_HASH_HEADER = re.compile(r"Hash: ?[A-Za-z0-9, -]+")
_STATUS = "[GNUPG:] "
_FINGERPRINTS = re.compile(rb"(?:[0-9A-F]{40,64}\n)+")
_KEY_ALGORITHMS = frozenset({"1", "19", "22", "27"})
"""Accepted OpenPGP algorithms: RSA, ECDSA, EdDSA and Ed25519; not DSA, which has 1024 bits and a weak digest."""
_RSA = "1"
_HASHES = frozenset({"8", "9", "10"})
"""Accepted OpenPGP hashes: SHA256, SHA384 and SHA512."""
_LEAST_RSA_BITS = 2048
_VALID_FIELDS = 9
_TROUBLES = {
    "EXPSIG": "whose signature expired",
    "EXPKEYSIG": "which expired",
    "REVKEYSIG": "which was revoked",
    "NO_PUBKEY": "which is not in the keyring",
    "ERRSIG": "whose signature cannot be checked",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyring:
    """The keys whose signatures are accepted.

    Attributes:
        named: File with public keys in OpenPGP's binary form; None for the keyring of the distribution.
        distribution: The distribution whose archives are signed.
        path: Directories that are searched for gpgv and sqv, separated by colons.
    """

    named: Path | None = None
    distribution: DebDistribution = DEBIAN
    path: str = "/usr/bin:/bin"

    @property
    def file(self) -> Path:
        """The file."""
        return self.named or self.distribution.keyring

    def opened(self, document: bytes, name: str) -> str:
        """Return the signed text of a document after checking its signature.

        Args:
            document: An `InRelease` file: one signed text, and nothing else.
            name: Name of the document, for messages.

        Raises:
            VerificationFailed: No valid key of the keyring made a strong signature of it.
            ToolMissing: The keyring is missing, or both gpgv and sqv.
        UsageError: The keyring has a form that gpgv does not read.
        """
        text, signature = _split(document, name, self.distribution.another_mirror)
        self._refuse_missing(name)
        with tempfile.TemporaryDirectory(prefix="envbuilder-release-") as work:
            content, signed = Path(work) / "content", Path(work) / "content.asc"
            content.write_bytes(text.encode("utf-8", "surrogateescape"))
            signed.write_bytes(signature.encode("utf-8", "surrogateescape"))
            result = self._run(("gpgv", "--status-fd", "1"), signed, content, name)
            if result is not None:
                self._refuse_unsigned(tuple(_signatures(result.stdout.decode("utf-8", "replace"))), name)
                return text
            result = self._run(("sqv",), signed, content, name)
        if result is None:
            raise ToolMissing(
                f"the signature of {name} cannot be checked: gpgv and sqv are missing",
                hint=self._install,
            )
        # sqv itself rejects keys and digests that are weak, expired or revoked, and prints the accepted keys.
        if result.returncode or not _FINGERPRINTS.fullmatch(result.stdout):
            raise VerificationFailed(f"{name} is not signed by a key of {self.file}", hint=self._newer)
        return text

    def _refuse_unsigned(self, found: tuple[_Signature, ...], name: str) -> None:
        """Raise VerificationFailed if gpgv found no acceptable signature, or one of another text."""
        another = self.distribution.another_mirror
        if any(each.is_bad for each in found):
            raise VerificationFailed(f"the signature of {name} is wrong: the content was changed", hint=another)
        if not any(each.is_good and self._is_strong(each) for each in found):
            reasons = "; ".join(dict.fromkeys(self._trouble(each) for each in found))
            raise VerificationFailed(
                f"{name} is not signed by a key of {self.file}{f': {reasons}' if reasons else ''}",
                hint=self._newer if found else another,
            )

    @property
    def _install(self) -> str:
        return f"{self.distribution.install}; or specify a keyring: {self.distribution.keyring_option}"

    @property
    def _newer(self) -> str:
        return (
            f"{self.distribution.another_mirror}; the keys may be newer than this keyring: "
            f"`apt-get install {self.distribution.keyring_package}`, or {self.distribution.keyring_option}"
        )

    def _refuse_missing(self, name: str) -> None:
        option = self.distribution.keyring_option
        try:
            with self.file.open("rb") as stream:
                head = stream.read(_HEAD)
        except OSError as error:
            why = "" if isinstance(error, FileNotFoundError) else f" ({error.strerror})"
            raise ToolMissing(
                f"the signature of {name} cannot be checked: no keyring at {self.file}{why}; "
                f"install the package {self.distribution.keyring_package}",
                hint=f"specify a readable keyring: {option}" if self.named else self._install,
            ) from None
        if head.startswith(b"-----BEGIN PGP") or b"KBXf" in head:
            convert = "--dearmor" if head.startswith(b"-") else f"--no-default-keyring --keyring {self.file} --export"
            source = f" < {self.file}" if head.startswith(b"-") else ""
            raise UsageError(
                f"the keyring {self.file} is not in the binary format of OpenPGP",
                hint=f"`gpg {convert}{source} > archive.gpg`, then {option.replace('FILE', 'archive.gpg')}",
            )

    def _run(
        self, command: tuple[str, ...], signature: Path, content: Path, name: str
    ) -> subprocess.CompletedProcess[bytes] | None:
        """Run a program; return its output about a signature, None if it is not installed."""
        environ = {"LC_ALL": "C", "PATH": self.path, "GNUPGHOME": str(content.parent), "HOME": str(content.parent)}
        try:
            return subprocess.run(
                [*command, "--keyring", str(self.file.resolve()), str(signature), str(content)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                timeout=_TIMEOUT, check=False, env=environ,
            )  # fmt: skip
        except FileNotFoundError:
            return None
        except (OSError, subprocess.TimeoutExpired) as error:
            why = "it did not end in time" if isinstance(error, subprocess.TimeoutExpired) else str(error.strerror)
            raise VerificationFailed(
                f"the signature of {name} cannot be checked: {command[0]}: {why}", hint="run the command again"
            ) from None

    def _is_strong(self, signature: _Signature) -> bool:
        if signature.hash not in _HASHES or signature.algorithm not in _KEY_ALGORITHMS:
            return False
        if signature.algorithm != _RSA:
            return True
        return rsa_bits(self.file.read_bytes()).get(signature.fingerprint, 0) >= _LEAST_RSA_BITS

    def _trouble(self, signature: _Signature) -> str:
        known = next((text for word, text in _TROUBLES.items() if word in signature.words), "")
        return f"by {signature.key or 'an unknown key'}, {known or 'with a weak key or digest'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signature:
    """One signature as reported by gpgv."""

    words: frozenset[str]
    key: str
    fingerprint: str
    algorithm: str
    hash: str

    @property
    def is_bad(self) -> bool:
        return "BADSIG" in self.words

    @property
    def is_good(self) -> bool:
        return self.words >= {"GOODSIG", "VALIDSIG"} and not self.words & {"BADSIG", *_TROUBLES}


def _signatures(status: str) -> Iterator[_Signature]:
    """Yield the signatures that gpgv reports, in order."""
    lines = [line.removeprefix(_STATUS).split(" ") for line in status.splitlines() if line.startswith(_STATUS)]
    starts = [number for number, (word, *_) in enumerate(lines) if word == "NEWSIG"]
    for start, end in pairwise((*starts, len(lines))):
        status_args = {word: values for word, *values in lines[start:end]}
        named = next((status_args[word] for word in ("GOODSIG", "BADSIG", *_TROUBLES) if status_args.get(word)), [""])
        valid = status_args.get("VALIDSIG", [])
        complete = len(valid) >= _VALID_FIELDS
        yield _Signature(
            words=frozenset(status_args),
            key=named[0],
            fingerprint=valid[0] if complete else "",
            algorithm=valid[6] if complete else "",
            hash=valid[7] if complete else "",
        )


def _split(document: bytes, name: str, hint: str) -> tuple[str, str]:
    """Return text and signature of a document that consists of exactly one of each.

    gpgv itself would accept several texts one after another, each with its own keys.
    """
    lines = document.decode("utf-8", "surrogateescape").replace("\r\n", "\n").rstrip("\n").split("\n")
    marks = [(number, line.rstrip(" \t")) for number, line in enumerate(lines) if line.startswith("-----")]
    if [line for _, line in marks] != [_BEGIN, _SIGNATURE, _END] or marks[0][0] != 0 or marks[2][0] != len(lines) - 1:
        raise VerificationFailed(f"{name} is not a single signed text: its origin cannot be verified", hint=hint)
    middle = marks[1][0]
    blank = lines.index("", 1) if "" in lines[1:middle] else middle
    if blank == middle or not all(_HASH_HEADER.fullmatch(line) for line in lines[1:blank]):
        raise VerificationFailed(f"{name} is not a single signed text: its origin cannot be verified", hint=hint)
    text = [line.removeprefix("- ").rstrip(" \t\r") for line in lines[blank + 1 : middle]]
    return "\n".join(text), "\n".join((*lines[middle:], ""))


def rsa_bits(keyring: bytes) -> dict[str, int]:
    """Return the length of each RSA key of a keyring in bits, by fingerprint; unreadable keys are left out.

    Source: https://www.rfc-editor.org/rfc/rfc4880, sections 4.2 (packet headers), 5.5.2 (version 4 keys) and 12.2
    (fingerprints).
    """
    return dict(filter(None, (_rsa(body) for tag, body in _packets(keyring) if tag in {6, 14})))


def _rsa(body: bytes) -> tuple[str, int] | None:
    if len(body) < 8 or body[0] != 4 or body[5] not in {1, 2, 3}:
        return None
    fingerprint = hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body, usedforsecurity=False)
    return fingerprint.hexdigest().upper(), int.from_bytes(body[6:8], "big")


def _packets(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and body of each packet; headers of the old and of the new format."""
    place = 0
    while place < len(data):
        head = data[place]
        if head & 0x40:
            tag, (length, octets) = head & 0x3F, _new_length(data[place + 1 : place + 6].ljust(5, b"\0"))
        else:
            tag, octets = (head & 0x3C) >> 2, 1 << (head & 3)
            length = int.from_bytes(data[place + 1 : place + 1 + octets], "big")
        place += 1 + octets
        yield tag, data[place : place + length]
        place += length


def _new_length(octets: bytes) -> tuple[int, int]:
    """Return a length, and the number of octets that encode it."""
    if octets[0] < 192:
        return octets[0], 1
    if octets[0] < 224:
        return ((octets[0] - 192) << 8) + octets[1] + 192, 2
    return int.from_bytes(octets[1:5], "big"), 5
