"""Signatures by ssh-keygen: who signed, and what is refused."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from envbuilder.core.errors import ToolFailed, ToolMissing, UsageError, VerificationFailed
from envbuilder.image.attestation.signatures import sign, verify

ENVIRON = {"PATH": os.environ.get("PATH", os.defpath)}


def key(folder: Path, name: str = "key") -> Path:
    path = folder / name
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True, stdin=subprocess.DEVNULL
    )
    return path


def checked(path: Path, keys: Path) -> str:
    with path.open("rb") as stream:
        return verify(stream, path, keys, environ=ENVIRON)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "tf.bundle"
    path.write_bytes(b"content" * 1000)
    return path


def test_the_key_that_signed_is_named(bundle: Path, tmp_path: Path) -> None:
    private = key(tmp_path)
    assert sign(bundle, private, environ=ENVIRON) == tmp_path / "tf.bundle.sig"
    fingerprint = checked(bundle, tmp_path / "key.pub")
    said = subprocess.run(["ssh-keygen", "-l", "-f", str(private)], check=True, capture_output=True, text=True).stdout
    assert fingerprint == said.split()[1]


def test_one_of_several_keys_is_enough(bundle: Path, tmp_path: Path) -> None:
    sign(bundle, key(tmp_path), environ=ENVIRON)
    key(tmp_path, "other")
    both = tmp_path / "both"
    both.write_text(
        "# our team\n\n" + (tmp_path / "other.pub").read_text("utf-8") + (tmp_path / "key.pub").read_text("utf-8"),
        "utf-8",
    )
    assert checked(bundle, both).startswith("SHA256:")


def test_signing_again_replaces_the_signature(bundle: Path, tmp_path: Path) -> None:
    sign(bundle, key(tmp_path, "first"), environ=ENVIRON)
    sign(bundle, key(tmp_path, "second"), environ=ENVIRON)
    assert checked(bundle, tmp_path / "second.pub")


def test_a_changed_file_is_refused(bundle: Path, tmp_path: Path) -> None:
    sign(bundle, key(tmp_path), environ=ENVIRON)
    bundle.write_bytes(b"other" + bundle.read_bytes()[5:])
    with pytest.raises(VerificationFailed, match=r"is not signed by a key of .*key\.pub"):
        checked(bundle, tmp_path / "key.pub")


def test_another_key_is_refused(bundle: Path, tmp_path: Path) -> None:
    sign(bundle, key(tmp_path), environ=ENVIRON)
    key(tmp_path, "other")
    with pytest.raises(VerificationFailed, match=r"is not signed by a key of .*other\.pub"):
        checked(bundle, tmp_path / "other.pub")


def test_a_signature_for_something_else_is_refused(bundle: Path, tmp_path: Path) -> None:
    private = key(tmp_path)
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-f", str(private), "-n", "file", str(bundle)], check=True)
    with pytest.raises(VerificationFailed):
        checked(bundle, tmp_path / "key.pub")


def test_a_missing_signature_is_refused(bundle: Path, tmp_path: Path) -> None:
    key(tmp_path)
    with pytest.raises(VerificationFailed, match=r"tf\.bundle\.sig not found") as caught:
        checked(bundle, tmp_path / "key.pub")
    assert "envbuilder bundle --sign" in caught.value.hint


@pytest.mark.parametrize("content", [b"", b"-----BEGIN SSH SIGNATURE-----\nAAAA\n", b"\xff\x00\x1b[2J" * 50_000])
def test_a_file_that_is_no_signature_is_refused(bundle: Path, tmp_path: Path, content: bytes) -> None:
    key(tmp_path)
    (tmp_path / "tf.bundle.sig").write_bytes(content)
    with pytest.raises(VerificationFailed) as caught:
        checked(bundle, tmp_path / "key.pub")
    assert caught.value.message.isprintable()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a key",
        b"-----BEGIN OPENSSH PRIVATE KEY-----",
        b'* namespaces="envbuilder-bundle" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI',
        b"ssh-ed25519 AAAA$(id)",
        b"\xff\xfe",
    ],
)
def test_a_file_without_public_keys_is_refused(bundle: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "keys").write_bytes(content)
    with pytest.raises(UsageError):
        checked(bundle, tmp_path / "keys")


def test_a_key_that_is_none_signs_nothing(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("none", "utf-8")
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(ToolFailed, match="cannot be signed"):
        sign(bundle, tmp_path / "key", environ=ENVIRON)
    assert not (tmp_path / "tf.bundle.sig").exists()


def test_without_ssh_keygen_the_command_that_installs_it_is_named(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolMissing) as caught:
        sign(bundle, tmp_path / "key", environ={"PATH": str(tmp_path)})
    assert "openssh-client" in caught.value.hint
