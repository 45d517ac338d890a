"""Client for one repository of a registry: manifests, blobs, and authentication on demand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from envbuilder.core.digests import is_digest
from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.core.http.limits import decimal
from envbuilder.core.http.origins import is_loopback, origin
from envbuilder.core.http.retries import Pacing
from envbuilder.core.json_fields import parsed, text
from envbuilder.core.references import ImageRef
from envbuilder.oci.documents import document
from envbuilder.oci.images import INDEX_TYPE, MANIFEST_TYPE, SmallBlob
from envbuilder.oci.registry.addresses import Place, host_of, place_of, siblings
from envbuilder.oci.registry.auth import Authorizer
from envbuilder.oci.registry.credentials import Credentials, RegistryLogins
from envbuilder.oci.registry.failures import Interrupted, refused
from envbuilder.oci.registry.retries import patiently
from envbuilder.oci.registry.transport import Answer, Body, Request, Transport

DOCKER_MANIFEST_TYPE = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST_TYPE = "application/vnd.docker.distribution.manifest.list.v2+json"
ACCEPTED = (MANIFEST_TYPE, INDEX_TYPE, DOCKER_MANIFEST_TYPE, DOCKER_LIST_TYPE)

# Registries accept this: https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md#pushing-manifests
_LONGEST_MANIFEST = 4 << 20
_LONGEST_ERROR = 1 << 16
_LARGEST_BLOB = 1 << 50
_BAD_REQUEST = 400
_PROBES = 2  # the first connection may fail by chance


class RegistryClient:
    """Connections to registries, closed by `with`; thread-safe.

    Args:
        environ: Proxies, CA bundle, and the PATH of credential helpers.
        login_files: Files with credentials, as Docker and podman write them; they need not exist.
        pacing: Provides waits and time.
        default: Returns the host for references without one, and is only called for these; None to refuse them.
            Never used for a push.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        login_files: Sequence[Path],
        pacing: Pacing | None = None,
        default: Callable[[], str] | None = None,
    ) -> None:
        self._default = default
        self.pacing = pacing or Pacing()
        self._logins = RegistryLogins(files=login_files, environ=environ)
        self._transport = Transport(environ, clock=self.pacing.clock)
        self._known: dict[str, tuple[str, Authorizer]] = {}
        self._lock = threading.Lock()

    def repository(self, reference: ImageRef, *, push: bool = False, mount_from: tuple[str, ...] = ()) -> Repository:
        """Return the repository of a reference; send no request to a registry on another machine.

        Args:
            reference: Without a host, the default registry is used.
            push: Whether the caller will write to it.
            mount_from: Other repositories, as `HOST/NAME`, to mount blobs from; those on other hosts are ignored.

        Raises:
            UsageError: The reference has no host, and `push` is set or there is no default.
        """
        place = self._place(reference, push=push)
        others = siblings(mount_from, place)
        base, authorizer = self._registry(place)
        actions = "pull,push" if push else "pull"
        scopes = (f"repository:{place.repository}:{actions}", *(f"repository:{other}:pull" for other in others))
        return Repository(
            place=place,
            base=base,
            scopes=scopes,
            others=others,
            pacing=self.pacing,
            transport=self._transport,
            authorizer=authorizer,
        )

    def _place(self, reference: ImageRef, *, push: bool) -> Place:
        if host_of(reference.repository) or push or self._default is None:
            return place_of(reference)
        return place_of(reference, self._default())

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _registry(self, place: Place) -> tuple[str, Authorizer]:
        """Return scheme and host, and the tokens for one repository, as credentials may cover part of a registry."""

        def login() -> Credentials | None:
            return self._logins.of(place.host, place.repository)

        with self._lock:
            known = f"{place.host}/{place.repository}"
            if known not in self._known:
                authorizer = Authorizer(place.host, self._transport, login, self.pacing)
                self._known[known] = (f"{self._scheme(place.host)}://{place.host}", authorizer)
            return self._known[known]

    def _scheme(self, host: str) -> str:
        """Return the scheme; try plain http on this machine only, where a TLS server hangs up or responds 400."""
        if not is_loopback(host):
            return "https"
        probe = Request(method="GET", url=f"http://{host}/v2/", subject=host, local=True)
        for _ in range(_PROBES):
            try:
                with self._transport.send(probe) as answer:
                    return "https" if answer.status == _BAD_REQUEST else "http"
            except Interrupted as error:
                if not error.broke:
                    return "http"
        return "https"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """One repository of one registry.

    Attributes:
        base: Scheme and host.
        scopes: Required scopes of its tokens.
        others: Names of repositories of the same registry to mount blobs from.
    """

    place: Place
    base: str
    scopes: tuple[str, ...]
    others: tuple[str, ...]
    pacing: Pacing
    transport: Transport = field(repr=False)
    authorizer: Authorizer = field(repr=False)

    def request(
        self,
        method: str,
        path: str,
        what: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: Body = None,
    ) -> Request:
        """Return a request for this repository.

        Args:
            method: Such as `GET`.
            path: Below the repository, such as `blobs/sha256:…`; or a complete address that the registry returned.
            what: Its subject, for errors.
            headers: Further headers.
            body: As in `Request`.
        """
        url = path if "://" in path else f"{self.base}/v2/{self.place.repository}/{path}"
        subject = f"{self.place}: {what}"
        return Request(
            method=method,
            url=url,
            subject=subject,
            local=is_loopback(self.place.host),
            headers=tuple((headers or {}).items()),
            body=body,
        )

    def once(self, request: Request, accept: tuple[int, ...]) -> Answer:
        """Send a request; repeat it once if the registry requires a (new) token. `accept` are statuses for the caller.

        Raises:
            Interrupted: Another attempt may succeed.
            SourceUnreachable: The response is final.
        """
        shown = self.authorizer.header(self.scopes)
        answer = self._sent(request, shown)
        # Credentials must not be sent to the target of a redirect.
        if answer.status == 401 and origin(answer.url) == origin(self.base):
            with answer:
                fresh = self.authorizer.renew(self.scopes, answer.challenges, shown)
                if not fresh:
                    raise self._refused(answer)
            answer = self._sent(request, fresh)
        if answer.status in accept:
            return answer
        with answer:
            raise self._refused(answer)

    def send(self, request: Request, accept: tuple[int, ...]) -> Answer:
        """Send a request, with further attempts if these may succeed; arguments and errors as in `once`."""
        return patiently(self.pacing, lambda: self.once(request, accept))

    def manifest(self, name: str) -> SmallBlob | None:
        """Return the manifest or index with a tag or a digest; None if there is none.

        Raises:
            SourceUnreachable: The registry does not respond, or refuses.
            VerificationFailed: The content does not match the digest.
        """
        request = self.request("GET", f"manifests/{name}", f"manifest {name}", headers={"Accept": ", ".join(ACCEPTED)})

        def ask() -> SmallBlob | None:
            with self.once(request, (200, 404)) as answer:
                if answer.status == 404:
                    return None
                return _manifest(answer, answer.content(_LONGEST_MANIFEST), name)

        return patiently(self.pacing, ask)

    def put_manifest(self, manifest: SmallBlob, name: str) -> Mapping[str, str]:
        """Write a manifest under a tag or its digest; return the headers of the response."""
        headers = {"Content-Type": manifest.descriptor.media_type}
        request = self.request("PUT", f"manifests/{name}", f"manifest {name}", headers=headers, body=manifest.content)
        with self.send(request, (200, 201, 202)) as answer:
            return answer.headers

    def has_blob(self, digest: str) -> bool:
        """Return True if the registry has a blob in this repository."""
        return self.blob_size(digest) is not None

    def blob_size(self, digest: str) -> int | None:
        """Return the bytes of a blob of this repository, 0 if the registry does not state them; None for no blob."""
        with self.send(self.request("HEAD", f"blobs/{digest}", f"blob {digest}"), (200, 404)) as answer:
            return decimal(answer.headers.get("Content-Length"), _LARGEST_BLOB) if answer.status == 200 else None

    def _sent(self, request: Request, authorization: str) -> Answer:
        own = authorization if origin(request.url) == origin(self.base) else ""
        return self.transport.send(replace(request, authorization=own, secrets=self.authorizer.secrets()))

    def _refused(self, answer: Answer) -> SourceUnreachable:
        return refused(answer.subject, answer.status, answer.start(_LONGEST_ERROR), self.authorizer.secrets())


def _manifest(answer: Answer, content: bytes, name: str) -> SmallBlob:
    declared = answer.headers.get("Content-Type", "").partition(";")[0].strip()
    found = document(text(parsed(content), "mediaType") or declared, content)
    wanted = name if is_digest(name) else answer.headers.get("Docker-Content-Digest", "")
    if is_digest(wanted) and found.descriptor.digest != wanted:
        raise VerificationFailed(
            f"{answer.subject}: the registry returned content with the digest {found.descriptor.digest}, not {wanted}",
            hint="the registry or a proxy returned different content; try again, or use another registry",
        )
    return found
