"""An engine without a daemon: images in a dict, builds in a toy shell, and registries that can be missing."""

from __future__ import annotations

import hashlib
import json
import shlex
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from envbuilder.core.errors import EngineError, SourceUnreachable, UsageError, VerificationFailed
from envbuilder.core.references import ImageRef
from envbuilder.image.builds import (
    Builder,
    BuildEvent,
    BuildRequest,
    BuildResult,
    EngineInfo,
    ImageInfo,
    ImageLayer,
    LoadResult,
    StepFinished,
    StepOutput,
    StepStarted,
)
from envbuilder.image.container_engine import Listener
from envbuilder.image.docker.build_failures import explain
from envbuilder.image.docker.build_journal import BuildJournal
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.runtime.command import Console, RunRequest, RunResult
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import PushResult, Transfer
from tests.fakes.shell import Session

FAKE_INFO = EngineInfo(
    name="docker", version="28.5.2", api="1.51", storage="overlayfs", gpus=True, sessionless_buildkit=True
)
_LAYER_BYTES = 1000


def digest_of(*parts: str) -> str:
    """A digest that depends on all parts and their order."""
    return f"sha256:{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()}"


def fake_image(name: str, labels: Mapping[str, str] | None = None) -> ImageInfo:
    """An image with one layer, told from others by its name; it has no tags until an engine gives it some."""
    return ImageInfo(
        id=digest_of("image", name),
        tags=(),
        digests=(),
        diff_ids=(digest_of("layer", name),),
        labels=tuple(sorted((labels or {}).items())),
        size=_LAYER_BYTES,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """A line of a Dockerfile, continuations joined."""

    word: str
    rest: str


class FakeEngine:
    """The `ContainerEngine` for tests of what uses one.

    Args:
        images: What it holds at first, by `repository:tag`.
        published: What registries hold, by `repository:tag`; a repository's first part names its registry.
        registries: Further registries that answer but are empty, such as `localhost:5000`.
        results: What its next runs give, in order; when they are used up, a toy shell answers.
        info: What it says about itself.

    Attributes:
        images: Image id by `repository:tag`.
        builds: Every build that was asked for, in order; `runs` and `pushes` likewise.
    """

    def __init__(
        self,
        *,
        images: Mapping[str, ImageInfo] | None = None,
        published: Mapping[str, ImageInfo] | None = None,
        registries: Iterable[str] = (),
        results: Iterable[RunResult] = (),
        info: EngineInfo = FAKE_INFO,
    ) -> None:
        self.images: dict[str, str] = {}
        self.published = dict(published or {})
        self.builds: list[BuildRequest] = []
        self.runs: list[RunRequest] = []
        self.pushes: list[ImageRef] = []
        self._held: dict[str, ImageInfo] = {}
        self._known_digests: dict[str, str] = {}
        self._built: set[str] = set()
        self.containers: dict[str, str] = {}
        self._archives: dict[str, bytes] = {}
        self._layers: dict[str, tuple[ImageLayer, ...]] = {}
        self._registries = {*registries, *(name.partition("/")[0] for name in self.published)}
        self._results = list(results)
        self._info = info
        for name, image in (images or {}).items():
            self._keep(image, name)

    def info(self) -> EngineInfo:
        return self._info

    def image(self, reference: str) -> ImageInfo | None:
        found = self._held.get(self.images.get(reference, self._known_digests.get(reference, reference)))
        if found is None:
            return None
        tags = sorted(name for name, image_id in self.images.items() if image_id == found.id)
        digests = sorted(name for name, image_id in self._known_digests.items() if image_id == found.id)
        return replace(found, tags=tuple(tags), digests=tuple(digests))

    def registry_digest(self, reference: ImageRef) -> str:
        return _manifest(self._in_registry(reference))

    def pull(self, reference: ImageRef, listener: Listener) -> ImageInfo:
        found = self._in_registry(reference)
        listener(Transfer(item=found.diff_ids[-1], current=found.size, total=found.size))
        self._known_digests[f"{reference.repository}@{_manifest(found)}"] = found.id
        self._keep(found, "" if reference.digest else str(reference))
        return self._get(found.id)

    def load_image(self, image: AssembledImage, store: Store, tags: tuple[str, ...]) -> LoadResult:
        ours = [layer.diff_id for layer in image.layers]
        common = max((_common(ours, held.diff_ids) for held in self._held.values()), default=0)
        sent = {layer.blob.digest: layer.blob.size for layer in image.layers[common:]}
        for digest in sent:
            if not store.has(digest):
                raise VerificationFailed(f"the layer {digest} is not in the cache directory")
            store.verified(digest)
        config = json.loads(image.config.content)
        loaded = ImageInfo(
            id=image.config.descriptor.digest,
            tags=(),
            digests=(),
            diff_ids=tuple(config["rootfs"]["diff_ids"]),
            labels=tuple(sorted((config["config"].get("Labels") or {}).items())),
            size=sum(layer.blob.size for layer in image.layers),
        )
        self._keep(loaded, *tags)
        return LoadResult(
            image=self._get(loaded.id), sent_bytes=sum(sent.values()), sent_layers=len(sent), present_layers=common
        )

    def load(self, archive: Path) -> ImageInfo:
        if not archive.is_file():
            raise UsageError(f"archive not found: {archive}")
        with tarfile.open(archive) as tar:
            entries = json.loads(_member(tar, "manifest.json"))
            if len(entries) != 1:
                raise UsageError(f"{archive} holds {len(entries)} images")
            config = _member(tar, entries[0]["Config"])
            size = sum(tar.getmember(layer).size for layer in entries[0]["Layers"])
        known = json.loads(config)
        image = ImageInfo(
            id=f"sha256:{hashlib.sha256(config).hexdigest()}",
            tags=(),
            digests=(),
            diff_ids=tuple(known["rootfs"]["diff_ids"]),
            labels=tuple(sorted((known["config"].get("Labels") or {}).items())),
            size=size,
        )
        self._keep(image, *entries[0]["RepoTags"] or ())
        self._archives[image.id] = archive.read_bytes()
        return self._get(image.id)

    def save(self, reference: str, archive: Path) -> None:
        archive.write_bytes(self._archives[self._get(reference).id])

    def tag(self, image_id: str, reference: ImageRef) -> None:
        self._keep(self._get(image_id), str(reference))

    def untag(self, reference: str) -> None:
        image_id = self._get(reference).id
        del self.images[reference]
        if image_id not in self.images.values():
            del self._held[image_id]

    def build(self, request: BuildRequest, listener: Listener) -> BuildResult:
        self.builds.append(request)
        dockerfile = request.folder / ("Dockerfile.classic" if request.builder is Builder.CLASSIC else "Dockerfile")
        if not dockerfile.is_file():
            raise UsageError(f"{request.folder} has no file {dockerfile.name}")
        journal = BuildJournal()

        def tell(event: BuildEvent) -> None:
            journal.note(event)
            listener(event)

        image = self._follow(_instructions(dockerfile.read_text(encoding="utf-8")), tell, journal, request.use_cache)
        self._keep(image, *request.tags)
        return BuildResult(
            image=self._get(image.id),
            layers=self._layers[image.id],
            steps=journal.steps(),
            builder=request.builder,
            seconds=sum(step.seconds for step in journal.steps()),
        )

    def push(self, reference: ImageRef, listener: Listener) -> PushResult:
        self.pushes.append(reference)
        image = self._get(str(reference))
        self._reach(reference)
        there = {layer for known in self.published.values() for layer in known.diff_ids}
        sent = tuple(layer for layer in image.diff_ids if layer not in there)
        for layer in sent:
            listener(Transfer(item=layer, current=_LAYER_BYTES, total=_LAYER_BYTES))
        self.published[str(reference)] = image
        return PushResult(
            reference=str(reference),
            digest=_manifest(image),
            pushed_bytes=_LAYER_BYTES * len(sent),
            pushed_layers=len(sent),
            present_layers=len(image.diff_ids) - len(sent),
            seconds=0.0,
        )

    def execute(self, container: str, command: tuple[str, ...], timeout: float) -> RunResult:
        if container not in self.containers:
            raise EngineError(f"No such container: {container}")
        return self.run(RunRequest(image=self.containers[container], command=command, timeout=timeout))

    def has_gpus(self, container: str) -> bool:
        return container in self.containers and self._info.gpus

    def run(self, request: RunRequest) -> RunResult:
        self.runs.append(request)
        self._get(request.image)
        if self._results:
            return self._results.pop(0)
        mounted = {target: Path(source).read_bytes() for source, target in request.mounts if Path(source).is_file()}
        session = Session(files={**mounted, **dict(request.files)}, seconds=request.timeout)
        status = session.execute(request.command)
        return RunResult(
            status=status,
            stdout=session.stdout,
            stderr=session.stderr,
            timed_out=session.timed_out,
            copied=session.files.get(request.copy_out),
        )

    def forget(self, container: str, image: str) -> None:
        self.containers.pop(container, None)
        if image in self.images:
            self.untag(image)

    def follow(self, request: RunRequest, console: Console) -> int:
        result = self.run(replace(request, timeout=float("inf")))
        for number, piece in ((1, result.stdout), (2, result.stderr)):
            if piece:
                console.output(number, piece)
        return result.status

    def _follow(
        self, instructions: list[Instruction], tell: Listener, journal: BuildJournal, use_cache: bool
    ) -> ImageInfo:
        image = fake_image("scratch")
        for index, instruction in enumerate(instructions, 1):
            step = f"[{index}/{len(instructions)}] {instruction.word} {instruction.rest}"
            tell(StepStarted(step=step))
            error, following = self._do(instruction, image, step, tell)
            cached = use_cache and not error and following.id in self._built
            tell(StepFinished(step=step, seconds=0.0 if cached else 0.5, cached=cached, error=error))
            if error:
                raise explain(error, step=step, output=journal.tail(step))
            image = following
            self._built.add(image.id)
            self._held.setdefault(image.id, image)
        return image

    def _do(self, instruction: Instruction, image: ImageInfo, step: str, tell: Listener) -> tuple[str, ImageInfo]:
        match instruction.word:
            case "FROM":
                return self._base(instruction.rest)
            case "LABEL":
                labels = dict(image.labels) | dict(word.split("=", 1) for word in shlex.split(instruction.rest))
                return "", self._on_top(replace(image, labels=tuple(sorted(labels.items()))), instruction, layer=False)
            case "RUN":
                session = Session()
                status = session.script(instruction.rest)
                for line in (session.stdout + session.stderr).decode().splitlines():
                    tell(StepOutput(step=step, text=line))
                error = f"process {instruction.rest!r} did not complete successfully: exit code: {status}"
                return (error if status else ""), self._on_top(image, instruction, layer=True)
            case _:
                return "", self._on_top(image, instruction, layer=instruction.word in {"COPY", "ADD"})

    def _base(self, name: str) -> tuple[str, ImageInfo]:
        found = self.image(name)
        if found is None:
            return f"failed to resolve source metadata for {name}: not found", fake_image("scratch")
        self._layers.setdefault(found.id, (ImageLayer(created_by=f"FROM {name}", size=found.size),))
        return "", found

    def _on_top(self, image: ImageInfo, instruction: Instruction, *, layer: bool) -> ImageInfo:
        made = digest_of(image.id, instruction.word, instruction.rest)
        below = self._layers.get(image.id, ())
        added = (ImageLayer(created_by=f"{instruction.word} {instruction.rest}", size=_LAYER_BYTES),) if layer else ()
        self._layers.setdefault(made, (*below, *added))
        diff_ids = (*image.diff_ids, digest_of("layer", made)) if layer else image.diff_ids
        return replace(image, id=made, diff_ids=diff_ids, size=image.size + (_LAYER_BYTES if layer else 0))

    def _keep(self, image: ImageInfo, *names: str) -> None:
        for name in filter(None, names):
            ImageRef.parse(name)
        self._held.setdefault(image.id, image)
        self.images.update({name: image.id for name in names if name})

    def _get(self, reference: str) -> ImageInfo:
        found = self.image(reference)
        if found is None:
            raise EngineError(f"the engine refused the request: No such image: {reference}")
        return found

    def _reach(self, reference: ImageRef) -> None:
        if reference.repository.partition("/")[0] not in self._registries:
            raise SourceUnreachable(f"the registry of {reference} does not answer", hint="start it")

    def _in_registry(self, reference: ImageRef) -> ImageInfo:
        self._reach(reference)
        for name, image in self.published.items():
            known = ImageRef.parse(name)
            same_name = known.repository == reference.repository
            if same_name and (
                _manifest(image) == reference.digest or (known.tag, "") == (reference.tag, reference.digest)
            ):
                return image
        raise SourceUnreachable(f"its registry has no {reference}", hint="push it first")


def _common(ours: Iterable[str], theirs: Iterable[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ours, theirs, strict=False)))


def _manifest(image: ImageInfo) -> str:
    return digest_of("manifest", image.id)


def _member(tar: tarfile.TarFile, name: str) -> bytes:
    content = tar.extractfile(name)
    assert content is not None
    return content.read()


def _instructions(dockerfile: str) -> list[Instruction]:
    lines = dockerfile.replace("\\\n", " ").splitlines()
    found = [line.split(None, 1) for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return [Instruction(word=words[0].upper(), rest=words[1].strip()) for words in found]
