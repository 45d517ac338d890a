"""Keys that sign a Debian archive of a test, without GnuPG: gpgv checks what they sign.

Source: RFC 4880, sections 5.2.3 and 5.2.4 (signatures of version 4), 5.5.2 (keys), 6 (armor), 7 (signed texts).
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cached_property

_E = 65537
_HASHES = {
    "SHA1": (2, bytes.fromhex("3021300906052b0e03021a05000414")),
    "SHA256": (8, bytes.fromhex("3031300d060960864801650304020105000420")),
}
_CERTIFIES, _TEXT, _REVOKES = 0x13, 0x01, 0x20
_MADE, _EXPIRES, _KEY_EXPIRES, _ISSUER, _FLAGS = 2, 3, 9, 16, 27
_NEVER = 0

STRONG = (
    0xC5DD85D6DA19EAA1D6D1008FE1C5ADE681D42156DE31D6D54988499143120E69F48AC69F17B1A8D4A3E3AA87FB65D6830BD1A573D2D7723B7E0332D2DF01A05E6D25E14B5284D940A69A9F046645EA5CF169C99F0D7FB640F11E4E53AEEBBF3612FE18B8A55F828E57C7E1D15D94DDB2BD52EB5E8AF8644F8D7D7EA96142FDBD,
    0xCF59123DEC82CC30D80DD7484E51E3D6B813415CFC65DD8CE378582A0E7E66189F9F00239A438B06256DF99BE71755A39D08B1832B30E77BAAC06C472987626C265127655A66F501DD5726FB778D7352F3BD43D8A51C8867A21E0EAD96E1FD44E32BD08C0E457FCBDE799483EB9C33F61ED9A763E1289EEA814A59F402D2930F,
)  # fmt: skip
"""Primes of a modulus of 2048 bits, made once from the seed of a pseudo-random generator; nobody trusts them."""
WEAK = (
    0xCB6B00C2F0DCAD0CC6C3CC961C33169BC68092B7B79ECEAD6934323DE12A8034C8AA23BA2E3E63AB1987F740C6B580DFA1C910F4A7F3318EAB6BCA4FD63F469D,
    0xC1527C28F47697B2E0CCF2C7535E2F33F4C418C8A3151A8B8293AE63931850FC21FC759FB2D57F3F90EC8C737CA6B5D516832DE6D4B6383374F80FE32781A89F,
)  # fmt: skip
"""The same with 1024 bits."""


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key that signs.

    Attributes:
        primes: Of its modulus.
        created: Seconds since 1970; keys of the same primes differ by it.
        lives: Seconds after which it expires; 0 for never.
        revoked: Whether its owner revoked it.
    """

    primes: tuple[int, int] = STRONG
    created: int = 1_600_000_000
    lives: int = _NEVER
    revoked: bool = False

    @cached_property
    def public(self) -> bytes:
        """The public key in binary form, for a keyring."""
        name = b"Archive of a test"
        certified = self._body_hashed + b"\xb4" + len(name).to_bytes(4, "big") + name
        subpackets = _sub(_FLAGS, b"\x02") + (_sub(_KEY_EXPIRES, self.lives.to_bytes(4, "big")) if self.lives else b"")
        return b"".join(
            (
                _packet(6, self._body),
                self._signature(_REVOKES, self._body_hashed, self.created + 1) if self.revoked else b"",
                _packet(13, name),
                self._signature(_CERTIFIES, certified, self.created, subpackets),
            )
        )

    def signature(self, text: str, *, made: int, lives: int, hashed: str) -> bytes:
        """Return a signature of a text, as a packet."""
        subpackets = _sub(_EXPIRES, lives.to_bytes(4, "big")) if lives else b""
        return self._signature(_TEXT, text.replace("\n", "\r\n").encode(), made, subpackets, hashed)

    @property
    def _modulus(self) -> int:
        return self.primes[0] * self.primes[1]

    @cached_property
    def _body(self) -> bytes:
        return b"\x04" + self.created.to_bytes(4, "big") + b"\x01" + _mpi(self._modulus) + _mpi(_E)

    @property
    def _body_hashed(self) -> bytes:
        return b"\x99" + len(self._body).to_bytes(2, "big") + self._body

    def _signature(self, kind: int, data: bytes, made: int, subpackets: bytes = b"", hashed: str = "SHA256") -> bytes:
        number, prefix = _HASHES[hashed]
        inside = _sub(_MADE, made.to_bytes(4, "big")) + subpackets
        head = bytes((4, kind, 1, number)) + len(inside).to_bytes(2, "big") + inside
        digest = hashlib.new(hashed, data + head + b"\x04\xff" + len(head).to_bytes(4, "big")).digest()
        octets = (self._modulus.bit_length() + 7) // 8
        filled = b"\x00\x01" + b"\xff" * (octets - 3 - len(prefix) - len(digest)) + b"\x00" + prefix + digest
        signed = self._raised(int.from_bytes(filled, "big"))
        issuer = _sub(_ISSUER, hashlib.sha1(self._body_hashed).digest()[-8:])  # noqa: S324  as the format wants it
        return _packet(2, head + len(issuer).to_bytes(2, "big") + issuer + digest[:2] + _mpi(signed))

    def _raised(self, number: int) -> int:
        """Return a number to the private exponent, from its remainders by each prime: RFC 8017, section 5.1.2."""
        first, second = self.primes
        by_first, by_second = (pow(number, pow(_E, -1, prime - 1), prime) for prime in self.primes)
        return by_second + (by_first - by_second) * pow(second, -1, first) % first * second


def signed(text: str, *keys: Key, made: int = 1_700_000_000, lives: int = _NEVER, hashed: str = "SHA256") -> bytes:
    """Return an `InRelease` with this text, signed by some keys."""
    plain = "\n".join(line.rstrip(" \t") for line in text.rstrip("\n").split("\n"))
    packets = b"".join(key.signature(plain, made=made, lives=lives, hashed=hashed) for key in keys)
    escaped = "\n".join(f"- {line}" if line.startswith("-") else line for line in plain.split("\n"))
    armor = base64.b64encode(packets).decode()
    wrapped = "\n".join(armor[start : start + 64] for start in range(0, len(armor), 64))
    return (
        f"-----BEGIN PGP SIGNED MESSAGE-----\nHash: {hashed}\n\n{escaped}\n"
        f"-----BEGIN PGP SIGNATURE-----\n\n{wrapped}\n-----END PGP SIGNATURE-----\n"
    ).encode()


def _mpi(number: int) -> bytes:
    return number.bit_length().to_bytes(2, "big") + number.to_bytes((number.bit_length() + 7) // 8, "big")


def _sub(kind: int, content: bytes) -> bytes:
    return bytes((len(content) + 1, kind)) + content


def _packet(tag: int, body: bytes) -> bytes:
    return bytes((0x80 | tag << 2 | 1,)) + len(body).to_bytes(2, "big") + body
