"""`envbuilder sign HOST/NAME:TAG --key KEY`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from envbuilder.cli.output.printing import json_option, print_json
from envbuilder.cli.output.signatures import print_signed, signed_documents
from envbuilder.cli.session import command_session
from envbuilder.core.errors import UsageError
from envbuilder.image.attestation.signing_keys import PASSWORD_VARIABLE, SigningKey, is_encrypted, signing_key
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.locks import obtain_lock
from envbuilder.wiring.settings import Settings
from envbuilder.wiring.signing import sign_reference

KEY_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
sign_option = click.option(
    "--sign",
    "signer",
    type=KEY_FILE,
    metavar="KEY",
    help="With --push: sign image, bill of materials and provenance with a private key (ECDSA P-256 in PEM).",
)


@click.command("sign")
@click.argument("image", metavar="HOST/NAME[:TAG][@DIGEST]")
@click.option("--key", "path", type=KEY_FILE, required=True, metavar="KEY", help="Private key: ECDSA P-256 in PEM.")
@click.option(
    "--lock", "target", metavar="LOCK|ENV", help="Lock of the image: sign its provenance and bill of materials too."
)
@json_option
def command(image: str, path: Path, target: str | None, *, as_json: bool) -> None:
    """Sign an image in its registry, in the format of cosign.

    The signature is stored beside the image, under a tag made from the digest and as a referrer. An image that the
    key has already signed is not signed again. The password of an encrypted key is read from the terminal, or from
    COSIGN_PASSWORD.
    """
    session = command_session(*([target] if target else []))
    lock = obtain_lock(session, target, Sources())[0] if target else None
    signed = sign_reference(session, image, opened_key(path, session.settings), lock)
    if as_json:
        print_json({"schema": 1, "signatures": signed_documents([signed])})
    else:
        print_signed([signed])


def opened_key(path: Path, here: Settings) -> SigningKey:
    """Return a private key; ask for the password of an encrypted one unless it is in the environment.

    Raises:
        UsageError: It is no key that can be used; or there is no terminal to ask for its password.
        ToolFailed: The password is wrong.
    """
    environ = dict(here.environ)
    if is_encrypted(path) and PASSWORD_VARIABLE not in environ:
        if not sys.stdin.isatty():
            raise UsageError(f"{path} is encrypted", hint=f"set its password: {PASSWORD_VARIABLE}")
        environ[PASSWORD_VARIABLE] = click.prompt(f"Password of {path}", hide_input=True, err=True)
    return signing_key(path, environ=environ)
