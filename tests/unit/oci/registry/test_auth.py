"""Tokens and passwords reach the registry that they are for, and nobody else."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.errors import EnvbuilderError, SourceUnreachable
from envbuilder.oci.images import Descriptor
from envbuilder.oci.registry.auth import chosen
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.pull import fetch_blobs
from envbuilder.oci.store import Store
from tests.fakes.pushing import push
from tests.unit.oci.registry.conftest import Time, image_of, reference
from tests.unit.oci.registry.faulty import Fault, Registry, serving, sha256

CONTENT = b"content" * 1000
BLOB = Descriptor(media_type="x", digest=sha256(CONTENT), size=len(CONTENT))
PASSWORD = "pass:word-Ünseen"
BASIC = base64.b64encode(f"me:{PASSWORD}".encode()).decode()


@pytest.fixture(autouse=True)
def content(registry: Registry) -> None:
    registry.put_blob("team/tf", CONTENT)


def log_in(folder: Path, registry: Registry, **entry: str) -> None:
    (folder / "docker").mkdir(exist_ok=True)
    config = {"auths": {registry.host: entry or {"auth": BASIC}}}
    (folder / "docker" / "config.json").write_text(json.dumps(config), encoding="utf-8")


def fetch(client: RegistryClient, registry: Registry, store: Store) -> None:
    fetch_blobs(client, reference(registry), (BLOB,), store)


def shown(registry: Registry, match: str) -> list[str]:
    return [seen.headers.get("Authorization", "") for seen in registry.seen if match in seen.line]


def test_an_anonymous_token_is_fetched_once(client: RegistryClient, registry: Registry, store: Store) -> None:
    registry.tokens = set()
    fetch(client, registry, store)
    store.remove(BLOB.digest)
    fetch(client, registry, store)
    assert registry.issued == 1
    assert shown(registry, "/blobs/") == ["", "Bearer token-1", "Bearer token-1"]


def test_a_token_is_asked_for_with_login_service_and_scopes(
    client: RegistryClient, registry: Registry, store: Store, tmp_path: Path
) -> None:
    log_in(tmp_path, registry)
    registry.tokens, registry.login = set(), f"Basic {BASIC}"
    push(client, image_of(store, b"l"), reference(registry), store, mount_from=(f"{registry.host}/base",))
    (line,) = registry.lines("/token")
    assert "service=test" in line
    assert "scope=repository%3Ateam%2Ftf%3Apull%2Cpush" in line
    assert "scope=repository%3Abase%3Apull" in line
    assert "scope=repository%3Aasked%3Apull" in line


def test_an_identity_token_is_exchanged_in_a_body(
    client: RegistryClient, registry: Registry, store: Store, tmp_path: Path
) -> None:
    log_in(tmp_path, registry, identitytoken="identity-123")
    registry.tokens, registry.login = set(), "identity-123"
    fetch(client, registry, store)
    assert registry.lines("/token") == ["POST /token"]
    assert store.has(BLOB.digest)


def test_a_token_is_renewed_before_it_ends(
    client: RegistryClient, registry: Registry, store: Store, time: Time
) -> None:
    registry.tokens = set()
    fetch(client, registry, store)
    store.remove(BLOB.digest)
    time.now += registry.life - 5
    fetch(client, registry, store)
    assert registry.issued == 2


def test_a_password_goes_as_it_is_where_the_registry_wants_it(
    client: RegistryClient, registry: Registry, store: Store, tmp_path: Path
) -> None:
    log_in(tmp_path, registry)
    registry.basic, registry.login = True, f"Basic {BASIC}"
    fetch(client, registry, store)
    assert shown(registry, "/blobs/") == ["", f"Basic {BASIC}"]


def test_no_login_says_how_to_log_in(client: RegistryClient, registry: Registry, store: Store) -> None:
    registry.basic, registry.login = True, f"Basic {BASIC}"
    with pytest.raises(SourceUnreachable, match="401 Unauthorized") as caught:
        fetch(client, registry, store)
    assert "docker login" in caught.value.hint


@pytest.fixture
def other() -> Iterator[Registry]:
    with serving() as made:
        yield made


def test_a_redirect_to_another_host_takes_no_authorization_along(
    client: RegistryClient, registry: Registry, other: Registry, store: Store
) -> None:
    registry.tokens = set()
    registry.elsewhere = f"http://{other.host}"
    other.put_blob("team/tf", CONTENT)
    fetch(client, registry, store)
    assert store.read(BLOB.digest) == CONTENT
    assert shown(registry, "/blobs/")[-1] == "Bearer token-1"
    assert [seen.headers.get("Authorization") for seen in other.seen] == [None]


def test_a_challenge_of_a_host_that_we_were_redirected_to_is_not_answered(
    client: RegistryClient, registry: Registry, other: Registry, store: Store, tmp_path: Path
) -> None:
    log_in(tmp_path, registry)
    registry.elsewhere = f"http://{other.host}"
    other.tokens = set()
    with pytest.raises(SourceUnreachable, match="401"):
        fetch(client, registry, store)
    assert other.lines("/token") == []
    assert not any("Authorization" in seen.headers for seen in (*registry.seen, *other.seen))


def test_an_upload_that_goes_to_another_host_takes_no_authorization_along(
    client: RegistryClient, registry: Registry, other: Registry, store: Store, tmp_path: Path
) -> None:
    log_in(tmp_path, registry)
    registry.basic, registry.login = True, f"Basic {BASIC}"
    registry.uploads_at = f"http://{other.host}"
    with pytest.raises(SourceUnreachable):
        push(client, image_of(store, b"l"), reference(registry), store)
    assert other.lines("PATCH ")
    assert not any("Authorization" in seen.headers for seen in other.seen)


def chain(error: BaseException | None) -> str:
    """Everything that a traceback of this error could show."""
    texts = []
    while error is not None:
        texts += [str(error), repr(error), getattr(error, "hint", "")]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return " ".join(texts)


@pytest.mark.parametrize("basic", [True, False])
def test_errors_show_no_secret_even_when_the_registry_repeats_it(
    client: RegistryClient, registry: Registry, store: Store, tmp_path: Path, basic: bool
) -> None:
    log_in(tmp_path, registry)
    registry.tokens, registry.basic = set(), basic
    registry.login = "Basic other"  # so that ours is refused, and quoted
    with pytest.raises(EnvbuilderError) as caught:
        fetch(client, registry, store)
    text = chain(caught.value)
    assert "not with" in text or "who is" in text  # what the registry said is there
    assert BASIC not in text
    assert PASSWORD not in text


@pytest.mark.parametrize("match", ["/token", "/blobs/"])
def test_a_broken_service_that_repeats_secrets_is_quoted_without_them(
    client: RegistryClient, registry: Registry, store: Store, tmp_path: Path, match: str
) -> None:
    log_in(tmp_path, registry, identitytoken="identity-123")
    registry.tokens, registry.login = set(), "identity-123"
    fetch(client, registry, store)  # makes token-1 known
    store.remove(BLOB.digest)
    registry.tokens.clear()
    body = b'{"errors":[{"code":"CRASH","message":"identity-123 token-1"}]}'
    late = 2 if match == "/blobs/" else 1
    registry.faults = [Fault(match=match, times=late - 1), Fault(match=match, status=500, body=body, times=99)]
    with pytest.raises(SourceUnreachable, match="CRASH") as caught:
        fetch(client, registry, store)
    assert "identity-123" not in chain(caught.value)
    if match == "/blobs/":
        assert "token-1" not in chain(caught.value)


def test_a_refused_token_is_not_shown(client: RegistryClient, registry: Registry, store: Store) -> None:
    class Forgetful(set[str]):
        def add(self, _token: str) -> None:
            """Every token is refused at once."""

    registry.tokens = Forgetful()
    with pytest.raises(EnvbuilderError, match="401") as caught:
        fetch(client, registry, store)
    assert "token-1" not in chain(caught.value)
    assert registry.issued == 1


def test_a_token_service_without_https_is_not_asked(
    client: RegistryClient, registry: Registry, store: Store, tmp_path: Path
) -> None:
    log_in(tmp_path, registry)
    challenge = 'Bearer realm="http://auth.example/token",service="x"'
    registry.faults = [Fault(match="/blobs/", status=401, headers=(("WWW-Authenticate", challenge),))]
    with pytest.raises(SourceUnreachable, match="without https"):
        fetch(client, registry, store)


@given(st.text(max_size=80))
def test_any_challenge_is_understood_or_not(line: str) -> None:
    found = chosen([line])
    assert found is None or found.scheme in {"basic", "bearer"}


def test_challenges_in_one_header_are_told_apart() -> None:
    found = chosen(['Negotiate, Basic realm="a, b", Bearer realm="https://r/t?x=1",scope="a:b:pull,push c:d:pull"'])
    assert found is not None
    assert (found.realm, found.scope) == ("https://r/t?x=1", "a:b:pull,push c:d:pull")
