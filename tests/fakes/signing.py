"""Keys that openssl makes, and their files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from envbuilder.image.attestation.signing_keys import SigningKey, signing_key

ENVIRON = {"PATH": os.environ.get("PATH", os.defpath)}


def key_file(folder: Path, name: str = "key", *, curve: str = "P-256", password: str = "") -> Path:
    """Make a key; its public key is beside it, with the suffix `.pub`."""
    path = folder / f"{name}.pem"
    command = ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", f"ec_paramgen_curve:{curve}", "-out", str(path)]
    command += ["-aes256", "-pass", f"pass:{password}"] if password else []
    subprocess.run(command, check=True, capture_output=True)
    command = ["openssl", "pkey", "-in", str(path), "-pubout", "-out", str(folder / f"{name}.pub")]
    command += ["-passin", f"pass:{password}"] if password else []
    subprocess.run(command, check=True, capture_output=True)
    return path


def made_key(folder: Path, name: str = "key") -> SigningKey:
    """Make a key and open it."""
    return signing_key(key_file(folder, name), environ=ENVIRON)
