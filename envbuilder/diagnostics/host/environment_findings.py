"""Findings about the tools for building images: engine, sources, certificates."""

from __future__ import annotations

from collections.abc import Iterator

from envbuilder.core.units import size
from envbuilder.diagnostics.findings import Finding, Remedy, problem, warning
from envbuilder.diagnostics.host.environment import EngineAnswers, EngineSilent, Silence, SourceKind, SourceSeen
from envbuilder.diagnostics.host.machine import LITTLE_DISK
from envbuilder.diagnostics.host.machine_view import MachineView

_NOTHING_NEW = "nothing new comes from there; what is in the cache is used"
_BUILDKIT_API = (1, 39)
_GPUS_API = (1, 40)
_WORDS = {
    Silence.NAME: "the name cannot be resolved",
    Silence.REFUSED: "connections are not accepted",
    Silence.CERTIFICATE: "the certificate is not signed by an authority that this machine trusts",
    Silence.CA_BUNDLE: "the CA bundle of this machine cannot be read",
    Silence.PROXY: "the proxy refuses the connection",
    Silence.BROKEN: "the connection broke",
    Silence.ADDRESS: "the address is invalid",
}
_INSTEAD = {
    SourceKind.REGISTRY: Remedy(text="use another registry", command="envbuilder build ENV --registry-mirror HOST"),
    SourceKind.INDEX: Remedy(text="use another index", command="export UV_DEFAULT_INDEX=URL"),
    SourceKind.DEBIAN: Remedy(text="use another archive", command="envbuilder build ENV --debian-mirror URL"),
}
_OFFLINE = Remedy(text="or build from a bundle", command="envbuilder build --bundle FILE --offline")
_CA = Remedy(text="use a CA bundle that contains its issuer", command="export SSL_CERT_FILE=/path/to/ca.pem")


def _engine(view: MachineView) -> EngineAnswers | None:
    engine = view.host_environment.engine if view.host_environment else None
    return engine if isinstance(engine, EngineAnswers) else None


def engine_silent(view: MachineView) -> Iterator[Finding]:
    """Report that there is no container engine that this user may use."""
    environment = view.host_environment
    if environment is None or not isinstance(environment.engine, EngineSilent):
        return
    instead = f"; {environment.sandbox} runs images without one" if environment.sandbox else ""
    yield warning(
        "engine-denied" if environment.engine.denied else "engine-silent",
        f"{environment.engine.why}{instead}",
        "`envbuilder build` assembles images without an engine; --engine docker does not work",
        *((Remedy(text=environment.engine.remedy),) if environment.engine.remedy else ()),
    )


def nothing_runs_images(view: MachineView) -> Iterator[Finding]:
    """Report that nothing runs commands in an image, neither an engine nor a sandbox."""
    environment = view.host_environment
    if environment and isinstance(environment.engine, EngineSilent) and environment.why_no_sandbox:
        yield warning(
            "no-sandbox",
            f"no sandbox is available to run a command in an image:  {environment.why_no_sandbox}",
            "`envbuilder validate IMAGE` and `catalog prove` cannot inspect images; static checks work",
            Remedy(text="install runc", command="sudo apt-get install runc"),
            Remedy(text="or let users create namespaces", command="sudo sysctl user.max_user_namespaces=15000"),
        )


def engine_old(view: MachineView) -> Iterator[Finding]:
    """Report an engine without BuildKit, or without `--gpus`."""
    engine = _engine(view)
    if engine is None:
        return
    api = tuple(int(part) for part in engine.api.split(".") if part.isdigit())
    if api and api < _BUILDKIT_API:
        yield _old(engine, "without BuildKit: builds go step by step and keep no cache of downloads")
    elif api and api < _GPUS_API and view.has_gpu:
        yield _old(engine, "without `--gpus`, which came with 19.03")
    elif not engine.buildkit:
        yield _old(engine, f"its BuildKit cannot read our upload with the store {engine.storage}, until 28")


def _old(engine: EngineAnswers, why: str) -> Finding:
    return warning(
        "engine-old",
        f"Docker {engine.version} is old",
        why,
        Remedy(text="update it, or build without it", command="envbuilder build ENV --engine assemble"),
    )


def engine_without_gpus(view: MachineView) -> Iterator[Finding]:
    """Report an engine that cannot use the GPU of the host."""
    engine = _engine(view)
    works = bool(view.interface and view.interface.init_code == 0 and view.interface.gpus) or bool(view.gpus)
    if engine and works and not engine.gpus:
        yield problem(
            "engine-without-gpus",
            f"the host has a GPU, and Docker {engine.version} has no NVIDIA runtime and no CDI device",
            "`docker run --gpus all` fails: could not select device driver",
            Remedy(
                text="install NVIDIA's Container Toolkit and configure Docker",
                command="sudo apt-get install nvidia-container-toolkit && sudo nvidia-ctk runtime configure"
                " --runtime=docker && sudo systemctl restart docker",
            ),
        )


def engine_disk(view: MachineView) -> Iterator[Finding]:
    """Report low disk space for the engine's images."""
    engine = _engine(view)
    if engine and engine.root_free is not None and engine.root_free < LITTLE_DISK:
        yield warning(
            "engine-disk",
            f"Docker has {size(engine.root_free)} free at {engine.root}",
            "a GPU image takes 3.7 to 4.7 GiB, and its packages need the same amount during the build",
            Remedy(text="show the disk usage", command="docker system df"),
            Remedy(text="remove the build cache", command="docker builder prune"),
        )


def source_silent(view: MachineView) -> Iterator[Finding]:
    """Report sources that do not answer; those with the same reason together."""
    environment = view.host_environment
    reasons: dict[str, list[SourceSeen]] = {}
    for source in environment.sources if environment else ():
        if source.silence is not None:
            words = _WORDS.get(source.silence, f"no answer within {environment.limit if environment else 0:g} s")
            reasons.setdefault(words, []).append(source)
    for words, silent in reasons.items():
        one = len(silent) == 1
        names = " and ".join(called(source) for source in silent)
        yield warning(
            "source-silent",
            f"{names} {'does' if one else 'do'} not answer: {words}",
            _NOTHING_NEW,
            *dict.fromkeys(remedy for source in silent for remedy in _to_reach(source)),
            _OFFLINE,
        )


def source_fails(view: MachineView) -> Iterator[Finding]:
    """Report sources that answer with an error."""
    for source in view.host_environment.sources if view.host_environment else ():
        if source.status is not None and (source.status == _PROXY_LOGIN or source.status >= _SERVER_FAILS):
            yield warning(
                "source-fails",
                f"{called(source)} answers with status {source.status}",
                _NOTHING_NEW,
                _INSTEAD[source.kind],
                _OFFLINE,
            )


_PROXY_LOGIN, _SERVER_FAILS = 407, 500


def called(source: SourceSeen) -> str:
    """Return a source in words, with its host if it is in the configuration of this machine."""
    through = ", through the proxy" if source.proxied else ""
    which = f"{source.host or source.chosen}{through}".removeprefix(", ")
    return f"{source.kind.value} ({which})" if which else source.kind.value


def _to_reach(source: SourceSeen) -> Iterator[Remedy]:
    if source.silence in {Silence.CERTIFICATE, Silence.CA_BUNDLE}:
        yield _CA
    elif source.silence is Silence.PROXY:
        yield Remedy(text="check HTTPS_PROXY and NO_PROXY, and the credentials in them")
    elif not source.proxied and source.silence is not Silence.ADDRESS:
        yield Remedy(text="behind a proxy, set it", command="export HTTPS_PROXY=http://HOST:PORT")
    yield _INSTEAD[source.kind]


def ca_bundle_gone(view: MachineView) -> Iterator[Finding]:
    """Report a variable that names unreadable certificates."""
    for bundle in view.host_environment.ca_bundles if view.host_environment else ():
        if not bundle.readable:
            yield problem(
                "ca-bundle-gone",
                f"{bundle.variable} names {bundle.path}, which is not readable",
                "every download over https fails",
                Remedy(text="set it to a file of PEM certificates, or unset it", command=f"unset {bundle.variable}"),
            )
