"""Keys of image signatures: what they sign, and which files are refused with what to do instead."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from envbuilder.core.errors import ToolFailed, ToolMissing, UsageError
from envbuilder.image.attestation.signing_keys import PASSWORD_VARIABLE, is_encrypted, public_key, signing_key
from tests.fakes.catalogs import DATA
from tests.fakes.signing import ENVIRON, key_file, made_key

SIGNATURES = DATA / "signatures"


def test_a_signature_is_of_one_content_and_by_one_key(tmp_path: Path) -> None:
    key, other = made_key(tmp_path), made_key(tmp_path, "other")
    signature = key.sign(b"content")
    known = public_key(tmp_path / "key.pub")
    assert known == key.public
    assert known.verifies(b"content", signature)
    assert not known.verifies(b"Content", signature)
    assert not known.verifies(b"content", signature[:-1])
    assert not other.public.verifies(b"content", signature)


def test_a_signature_by_cosign_is_valid() -> None:
    key = public_key(SIGNATURES / "cosign.pub")
    signature = base64.b64decode((SIGNATURES / "signature.txt").read_bytes())
    content = (SIGNATURES / "payload.json").read_bytes()
    assert key.verifies(content, signature)
    assert not key.verifies(content + b" ", signature)


def test_the_fingerprint_is_that_of_openssl() -> None:
    # openssl pkey -pubin -in cosign.pub -outform DER | sha256sum
    expected = "sha256:c87a79018f346cc02482448b77296b0bea143ef2ccab99b04776fb0f638f301f"
    assert public_key(SIGNATURES / "cosign.pub").fingerprint == expected


def test_a_key_on_another_curve_is_refused(tmp_path: Path) -> None:
    private = key_file(tmp_path, curve="P-384")
    for attempt in (lambda: signing_key(private, environ=ENVIRON), lambda: public_key(tmp_path / "key.pub")):
        with pytest.raises(UsageError, match="not an ECDSA key on the curve P-256") as refused:
            attempt()
        assert "openssl ecparam -name prime256v1" in refused.value.hint


@pytest.mark.parametrize("word", ["COSIGN", "SIGSTORE"])
def test_the_own_format_of_cosign_is_refused_with_the_command_that_signs(tmp_path: Path, word: str) -> None:
    path = tmp_path / "cosign.key"
    path.write_text(f"-----BEGIN ENCRYPTED {word} PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED {word} PRIVATE KEY-----\n")
    with pytest.raises(UsageError, match="only cosign reads") as refused:
        signing_key(path, environ=ENVIRON)
    assert f"cosign sign --key {path}" in refused.value.hint


def test_an_encrypted_key_needs_its_password(tmp_path: Path) -> None:
    path = key_file(tmp_path, password="secret")
    assert is_encrypted(path)
    assert not is_encrypted(key_file(tmp_path, "plain"))
    key = signing_key(path, environ={**ENVIRON, PASSWORD_VARIABLE: "secret"})
    assert key.public.verifies(b"content", key.sign(b"content"))
    with pytest.raises(ToolFailed, match="openssl cannot use the key") as refused:
        signing_key(path, environ={**ENVIRON, PASSWORD_VARIABLE: "wrong"})
    assert PASSWORD_VARIABLE in refused.value.hint


@pytest.mark.parametrize("text", ["", "-----BEGIN PUBLIC KEY-----\nA\n-----END PUBLIC KEY-----\n", "ssh-ed25519 AAAA"])
def test_a_file_that_is_no_key_is_a_usage_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(UsageError, match="is not a public key in PEM"):
        public_key(path)
    with pytest.raises(UsageError, match="is not a private key in PEM"):
        signing_key(path, environ=ENVIRON)
    with pytest.raises(UsageError, match="cannot be read"):
        public_key(tmp_path)


def test_without_openssl_the_package_is_named(tmp_path: Path) -> None:
    path = key_file(tmp_path)
    with pytest.raises(ToolMissing, match="openssl") as missing:
        signing_key(path, environ={"PATH": str(tmp_path)})
    assert missing.value.hint == "`apt-get install openssl`"
