"""Only a strong signature, by a key of the keyring that is valid now, of one whole text counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import EnvbuilderError, ToolMissing, UsageError, VerificationFailed
from envbuilder.image.base.deb.distributions import DEBIAN, UBUNTU
from envbuilder.image.base.deb.signatures import Keyring, rsa_bits
from tests.fakes.debian_keys import WEAK, Key, signed

TEXT = "Suite: stable\n- dashed\nCodename: bookworm"
GOOD = Key()
OTHER = Key(created=1_650_000_000)


def keyring(tmp_path: Path, *keys: Key) -> Keyring:
    file = tmp_path / "debian.gpg"
    file.write_bytes(b"".join(key.public for key in keys))
    return Keyring(named=file)


def refusal(tmp_path: Path, document: bytes, *keys: Key) -> EnvbuilderError:
    with pytest.raises(VerificationFailed) as caught:
        keyring(tmp_path, *keys or (GOOD,)).opened(document, "bookworm")
    return caught.value


def test_a_good_signature_gives_the_text_that_was_signed(tmp_path: Path) -> None:
    assert keyring(tmp_path, GOOD).opened(signed(TEXT, GOOD), "bookworm") == TEXT
    assert keyring(tmp_path, OTHER, GOOD).opened(signed(TEXT + "  \t\n\n", GOOD), "bookworm") == TEXT


@pytest.mark.parametrize("keys", [(GOOD, OTHER), (OTHER, GOOD)])
def test_one_signature_of_several_is_enough_when_the_others_are_by_newer_keys(
    tmp_path: Path, keys: tuple[Key, Key]
) -> None:
    assert keyring(tmp_path, GOOD).opened(signed(TEXT, *keys), "bookworm") == TEXT


@pytest.mark.parametrize(
    ("key", "told"),
    [(Key(lives=1000), "which expired"), (Key(revoked=True), "which was revoked"), (Key(primes=WEAK), "weak key")],
)
def test_a_key_that_is_expired_revoked_or_weak_does_not_count(tmp_path: Path, key: Key, told: str) -> None:
    assert told in refusal(tmp_path, signed(TEXT, key), key).message


def test_a_signature_that_expired_or_is_of_a_weak_digest_does_not_count(tmp_path: Path) -> None:
    assert "whose signature expired" in refusal(tmp_path, signed(TEXT, GOOD, lives=60)).message
    assert "weak key or digest" in refusal(tmp_path, signed(TEXT, GOOD, hashed="SHA1")).message


def test_a_key_outside_of_the_keyring_is_named_with_the_package_that_may_have_it(tmp_path: Path) -> None:
    error = refusal(tmp_path, signed(TEXT, OTHER))
    assert f"is not signed by a key of {tmp_path / 'debian.gpg'}" in error.message
    assert "which is not in the keyring" in error.message
    assert "debian-archive-keyring" in error.hint
    assert "--debian-keyring" in error.hint


def test_a_changed_text_is_refused_also_when_another_signature_is_good(tmp_path: Path) -> None:
    changed = signed(TEXT, GOOD).replace(b"Codename: bookworm", b"Codename: bookwarm")
    assert "the content was changed" in refusal(tmp_path, changed).message


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"Suite: stable\n",
        b"Suite: stable\n\n" + signed(TEXT, GOOD),
        signed(TEXT, GOOD) + b"Suite: stable\n",
        signed("Suite: evil", OTHER) + signed(TEXT, GOOD),
        signed(TEXT, GOOD) * 2,
        signed(TEXT, GOOD).replace(b"Hash: SHA256\n", b"Suite: evil\n"),
        signed(TEXT, GOOD).replace(b"Hash: SHA256\n\n", b"Hash: SHA256\n"),
        signed(TEXT, GOOD).replace(b"\n-----BEGIN PGP SIG", b"\n-----BEGIN PGP SIGNED MESSAGE-----\n-----BEGIN PGP S"),
        b"\xff\xfe" + signed(TEXT, GOOD),
    ],
)  # fmt: skip
def test_anything_but_one_signed_text_is_refused(tmp_path: Path, document: bytes) -> None:
    assert "is not a single signed text" in refusal(tmp_path, document, GOOD).message


def test_a_text_without_any_signature_packet_is_refused(tmp_path: Path) -> None:
    assert "is not signed by a key of" in refusal(tmp_path, signed(TEXT)).message


def test_bytes_that_are_no_text_are_checked_as_they_are(tmp_path: Path) -> None:
    broken = signed(TEXT, GOOD).replace(b"bookworm", b"book\xffworm")
    assert "the content was changed" in refusal(tmp_path, broken).message


def test_without_a_keyring_nothing_is_believed_and_the_package_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="install the package debian-archive-keyring") as caught:
        Keyring(distribution=replace(DEBIAN, keyring=tmp_path / "none.gpg")).opened(signed(TEXT, GOOD), "bookworm")
    assert "apt-get install gpgv debian-archive-keyring" in caught.value.hint
    with pytest.raises(ToolMissing) as caught:
        Keyring(named=tmp_path).opened(signed(TEXT, GOOD), "bookworm")
    assert caught.value.hint == "specify a readable keyring: --debian-keyring FILE"


def test_the_keyring_of_ubuntu_has_its_own_package_and_option(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="install the package ubuntu-keyring") as caught:
        Keyring(distribution=replace(UBUNTU, keyring=tmp_path / "none.gpg")).opened(signed(TEXT, GOOD), "bionic")
    assert "--ubuntu-keyring FILE" in caught.value.hint
    assert Keyring(distribution=UBUNTU).file.name == "ubuntu-archive-keyring.gpg"


def test_without_gpgv_and_sqv_nothing_is_believed_and_the_package_is_named(tmp_path: Path) -> None:
    known = keyring(tmp_path, GOOD)
    with pytest.raises(ToolMissing, match="gpgv and sqv are missing"):
        Keyring(named=known.file, path=str(tmp_path)).opened(signed(TEXT, GOOD), "bookworm")


@pytest.mark.parametrize(
    ("said", "believed"),
    [(f"echo {'A1' * 20}", True), ("exit 1", False), ("exit 0", False), (f"echo {'A1' * 20}; exit 1", False)],
)
def test_where_gpgv_is_missing_sqv_decides(tmp_path: Path, said: str, *, believed: bool) -> None:
    program = tmp_path / "sqv"
    asked = f'[ "$1 $2" = "--keyring {tmp_path}/debian.gpg" ] && [ -s "$3" ] && [ -s "$4" ] || exit 2'
    program.write_text(f"#!/bin/sh\n{asked}\n{said}\n")
    program.chmod(0o755)
    known = Keyring(named=keyring(tmp_path, GOOD).file, path=str(tmp_path))
    if believed:
        assert known.opened(signed(TEXT, GOOD), "bookworm") == TEXT
    else:
        with pytest.raises(VerificationFailed, match="is not signed by a key of"):
            known.opened(signed(TEXT, GOOD), "bookworm")


@pytest.mark.parametrize(
    ("content", "command"),
    [(b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n", "gpg --dearmor"), (bytes(8) + b"KBXf", "--export")],
)
def test_a_keyring_of_another_form_is_refused_with_the_command_that_converts_it(
    tmp_path: Path, content: bytes, command: str
) -> None:
    file = tmp_path / "keys.asc"
    file.write_bytes(content)
    with pytest.raises(UsageError, match="binary form") as caught:
        Keyring(named=file).opened(signed(TEXT, GOOD), "bookworm")
    assert command in caught.value.hint


def test_the_keys_of_the_distribution_are_those_in_use_only() -> None:
    assert Keyring().file.name == "debian-archive-keyring.gpg"


def test_lengths_of_keys_are_read_from_packets_of_both_formats() -> None:
    old = Key().public
    assert list(rsa_bits(old).values()) == [2048]
    body = old[3 : 3 + int.from_bytes(old[1:3], "big")]
    long = b"\xc6\xff" + len(body).to_bytes(4, "big") + body
    middle = b"\xc6" + bytes((((len(body) - 192) >> 8) + 192, (len(body) - 192) & 0xFF)) + body
    short = b"\xcd\x02ab"
    assert rsa_bits(short + long) == rsa_bits(short + middle) == rsa_bits(old)
    for end in range(len(old)):
        rsa_bits(old[:end])
    assert rsa_bits(b"\xc6\xff") == {}
