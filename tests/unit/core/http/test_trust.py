"""One variable names the certificates, for us, for programs that we start and for builds."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest

from envbuilder.core.errors import UsageError
from envbuilder.core.http.trust import CA_VARIABLES, ca_bundle, ca_variable, child_environ, trust


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    path = tmp_path / "ca.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", tmp_path / "key", "-out", path,
         "-days", "2", "-subj", "/CN=envbuilder test"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return path


def subjects(context: ssl.SSLContext) -> list[str]:
    return [str(each["subject"]) for each in context.get_ca_certs()]


@pytest.mark.parametrize("name", CA_VARIABLES)
def test_each_variable_holds_everywhere(certificate: Path, name: str) -> None:
    environ = {name: str(certificate), "PATH": "/bin"}
    assert ca_variable(environ) == name
    assert len(subjects(trust(environ))) == 1
    assert "envbuilder test" in subjects(trust(environ))[0]
    assert ca_bundle(environ) == certificate.read_bytes()
    assert child_environ(environ)["SSL_CERT_FILE"] == str(certificate)


def test_the_first_variable_of_the_order_holds(certificate: Path) -> None:
    for at, name in enumerate(CA_VARIABLES):
        environ = dict.fromkeys(reversed(CA_VARIABLES[at:]), "/other.pem") | {name: str(certificate)}
        assert ca_variable(environ) == name
        assert ca_bundle(environ) == certificate.read_bytes()
        assert child_environ(environ)["SSL_CERT_FILE"] == str(certificate)


def test_a_directory_of_certificates_is_one_bundle(certificate: Path, tmp_path: Path) -> None:
    directory = tmp_path / "certs"
    directory.mkdir()
    for name in ("ca.pem", "0123abcd.0"):
        (directory / name).write_bytes(certificate.read_bytes())
    (directory / "README").write_text("no certificate", encoding="utf-8")
    environ = {"REQUESTS_CA_BUNDLE": str(directory), "PATH": "/bin"}
    assert ca_bundle(environ) == certificate.read_bytes()
    assert child_environ(environ) == {**environ, "SSL_CERT_DIR": str(directory)}
    trust(environ)


@pytest.mark.parametrize("name", CA_VARIABLES)
def test_a_bundle_that_is_missing_is_named_by_its_variable(tmp_path: Path, name: str) -> None:
    environ = {name: str(tmp_path / "private-place.pem")}
    for read in (trust, ca_bundle):
        with pytest.raises(UsageError, match=name) as caught:
            read(environ)
        assert "private-place" not in str(caught.value)


def test_without_a_variable_the_machine_decides() -> None:
    assert ca_bundle({}) == b""
    assert child_environ({"PATH": "/bin"}) == {"PATH": "/bin"}
