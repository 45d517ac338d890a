"""A lock to canonical text and back; `load(dump(lock)) == lock`, and equal locks are equal bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from envbuilder.catalog.cuda import LibraryLink
from envbuilder.catalog.environments import BaseKind, CudaProvider, PythonProvider
from envbuilder.core.digests import digest_of, sha256_digest
from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.core.image_paths import allowable
from envbuilder.core.memory_policy import ALL
from envbuilder.core.memory_policy import parse as parse_memory
from envbuilder.core.names import (
    LARGEST_FILE,
    LATEST_TIME,
    debian_file,
    debian_name,
    debian_suite,
    debian_version,
    distribution_file,
    distribution_version,
    file_name,
    is_file_of,
    layer_id,
    library_name,
    media_type,
    python_version,
    row_id,
    shown,
)
from envbuilder.core.references import ImageRef, image_name, normalized
from envbuilder.core.versions import Release
from envbuilder.core.yaml.canonical import Plain
from envbuilder.core.yaml.canonical import dump as canonical
from envbuilder.core.yaml.fields import Fields, Reader
from envbuilder.core.yaml.image_paths import image_path
from envbuilder.core.yaml.requirements import sha256
from envbuilder.lock.image_settings import account, variables
from envbuilder.lock.lock import (
    LOCK_SCHEMA,
    BasePin,
    CudaPin,
    Lock,
    OsPackagePin,
    OwnFile,
    PackageGroup,
    PackagePin,
    PythonPin,
    ToolName,
    ToolPin,
    User,
)
from envbuilder.lock.resolve.tensorflow_distributions import DISTRIBUTIONS
from envbuilder.oci.images import Descriptor, ImageLayerPin, ImagePin, LayerFormat

_HEADER = "# Written by `envbuilder lock`. Not meant to be edited: change envbuilder.yaml and lock again.\n"


def digest(lock: Lock) -> str:
    """`sha256:…` of the canonical text of the pins: the identity of a lock."""
    return _digest_of_pins(_pins(lock))


# Every step from the plan to the report asks for it: the canonical text of a lock takes 20 ms.
@lru_cache(maxsize=64)
def _digest_of_pins(pins: Lock) -> str:
    return digest_of(dump(pins).encode())


def dump_pins(lock: Lock) -> str:
    """Return the canonical text without the name and without the image that the pins become: what is in that image."""
    return dump(_pins(lock))


def _pins(lock: Lock) -> Lock:
    return replace(lock, name="", image=None)


def dump(lock: Lock) -> str:
    """The canonical text of a lock."""
    document: dict[str, Plain] = {
        "schema": LOCK_SCHEMA,
        **({"name": lock.name} if lock.name else {}),
        "environment": lock.environment,
        "summary": lock.summary,
        "framework": lock.framework,
        "framework_version": lock.framework_version,
        "base": _plain_base(lock.base),
        "python": _plain_python(lock.python),
    }
    if lock.cuda is not None:
        document["cuda"] = _plain_cuda(lock.cuda)
    document |= {
        "user": _plain_user(lock.user),
        "memory": str(lock.memory),
        "env": _plain_pairs(lock.env),
        "os_packages": [_plain_os_package(pin) for pin in lock.os_packages],
        "packages": [_plain_package(pin) for pin in lock.packages],
        **({"files": [_plain_file(file) for file in lock.files]} if lock.files else {}),
        **({"allow": list(lock.allow)} if lock.allow else {}),
        "tools": [_plain_tool(tool) for tool in lock.tools],
        "deviations": list(lock.deviations),
        "refused": list(lock.refused),
        "sources": list(lock.sources),
        "inputs": _plain_pairs(lock.inputs),
        "epoch": lock.epoch,
    }
    if lock.image is not None:
        document["image"] = _plain_image(lock.image)
    return _HEADER + canonical(document)


def was_written_here(text: str) -> bool:
    """Return True if a text begins as every lock does, even if it is not a valid one any more."""
    return text.startswith(_HEADER)


def load(text: str, file: str) -> Lock:
    """Read a lock.

    Args:
        text: The document.
        file: Its path, for the faults.

    Raises:
        InvalidInput: It is none, or one of another schema.
    """
    reader = Reader(file)
    root = reader.document(text)
    if root.integer("schema") != LOCK_SCHEMA:
        problem = f"must be {LOCK_SCHEMA}: this is no lock, or one of another version"
        hint = "lock again with this envbuilder: `envbuilder lock`"
        raise InvalidInput((Fault(file=file, line=root.line, field="schema", problem=problem, hint=hint),))
    lock = Lock(
        environment=root.value("environment", row_id, fallback=""),
        summary=root.text("summary"),
        framework=root.value("framework", normalized, fallback=""),
        framework_version=root.value("framework_version", distribution_version, fallback=""),
        base=_base(root.child("base")),
        python=_python(root.child("python")),
        cuda=_cuda(root.child("cuda")) if root.has("cuda") else None,
        packages=_packages(root),
        os_packages=_os_packages(root, "os_packages"),
        tools=_tools(root),
        env=variables(root, "env"),
        user=account(root.child("user")),
        memory=root.value("memory", parse_memory, fallback=ALL),
        deviations=root.texts("deviations", str),
        refused=root.texts("refused", row_id),
        sources=root.texts("sources", str),
        inputs=root.pairs("inputs", str),
        epoch=root.integer("epoch", least=0, most=LATEST_TIME),
        files=_files(root),
        allow=root.texts("allow", allowable) if root.has("allow") else (),
        name=root.value("name", image_name, fallback="") if root.has("name") else "",
        image=_image(root.child("image")) if root.has("image") else None,
    )
    reader.finish()
    return lock


def _plain_package(pin: PackagePin) -> dict[str, Plain]:
    plain: dict[str, Plain] = {
        "name": pin.name,
        "version": pin.version,
        "group": pin.group.value,
        "file": pin.file,
        "sha256": pin.sha256,
    }
    return plain | ({"size": pin.size} if pin.size else {})


def _plain_base(base: BasePin) -> dict[str, Plain]:
    plain: dict[str, Plain] = {
        "id": base.id,
        "kind": base.kind.value,
        "image": base.image,
        "digest": base.digest,
    }
    if base.packages:
        plain["packages"] = [_plain_os_package(pin) for pin in base.packages]
    if base.missing:
        plain["missing"] = list(base.missing)
    return plain


def _plain_user(user: User) -> dict[str, Plain]:
    return {"name": user.name, "uid": user.uid, "gid": user.gid}


def _plain_tool(tool: ToolPin) -> dict[str, Plain]:
    return {"name": tool.name, "version": tool.version, "sha256": tool.sha256}


def _plain_python(python: PythonPin) -> dict[str, Plain]:
    plain: dict[str, Plain] = {"version": python.version.text, "provider": python.provider.value}
    if python.file:
        plain |= {"file": python.file, "sha256": python.sha256}
    return plain


def _plain_cuda(cuda: CudaPin) -> dict[str, Plain]:
    return {
        "provider": cuda.provider.value,
        "cuda": cuda.cuda.text,
        "cudnn": cuda.cudnn.text,
        "driver": cuda.driver.text,
        "sonames": list(cuda.sonames),
        "links": [{"name": link.name, "target": link.target} for link in cuda.links],
    }


def _plain_os_package(pin: OsPackagePin) -> dict[str, Plain]:
    plain: dict[str, Plain] = {"name": pin.name, "version": pin.version}
    if pin.sha256:
        plain["sha256"] = pin.sha256
    if pin.file:
        plain |= {"file": pin.file, "size": pin.size}
    return plain


def _plain_file(file: OwnFile) -> dict[str, Plain]:
    plain: dict[str, Plain] = {"path": file.path, "sha256": file.sha256, "size": file.size}
    return plain | ({"executable": True} if file.executable else {})


def _plain_image(image: ImagePin) -> dict[str, Plain]:
    return {
        "format": image.format.value,
        "manifest": image.manifest,
        "config": image.config,
        "layers": [
            {
                "id": layer.id,
                "key": layer.key,
                "diff_id": layer.diff_id,
                "digest": layer.blob.digest,
                "size": layer.blob.size,
                "type": layer.blob.media_type,
            }
            for layer in image.layers
        ],
    }


def _plain_pairs(pairs: Iterable[tuple[str, str]]) -> dict[str, Plain]:
    return dict(pairs)


def _base(fields: Fields) -> BasePin:
    kind = fields.choice("kind", BaseKind)
    rules = {BaseKind.IMAGE.value: _reference, BaseKind.DEBIAN.value: _nothing}
    return BasePin(
        id=fields.value("id", row_id, fallback=""),
        kind=kind,
        image=fields.value("image", rules.get(fields.text("kind"), str), fallback=""),
        digest=fields.value("digest", _unless_empty(sha256_digest), fallback=""),
        packages=_os_packages(fields, "packages"),
        missing=fields.texts("missing", debian_suite),
    )


def _python(fields: Fields) -> PythonPin:
    provider = fields.choice("provider", PythonProvider)
    archive = provider is PythonProvider.ARCHIVE
    return PythonPin(
        version=fields.value("version", python_version, fallback=Release("0")),
        provider=provider,
        file=fields.value("file", file_name, fallback="") if archive else "",
        sha256=fields.value("sha256", _unless_empty(sha256), fallback="") if archive else "",
    )


def _cuda(fields: Fields) -> CudaPin:
    return CudaPin(
        provider=fields.choice("provider", CudaProvider),
        cuda=fields.release("cuda"),
        cudnn=fields.release("cudnn"),
        driver=fields.release("driver"),
        sonames=fields.texts("sonames", library_name),
        links=tuple(
            LibraryLink(
                name=each.value("name", library_name, fallback=""),
                target=each.value("target", library_name, fallback=""),
            )
            for each in fields.children("links")
        ),
    )


def _tools(root: Fields) -> tuple[ToolPin, ...]:
    tools = root.children("tools")
    pins = tuple(
        ToolPin(
            name=each.choice("name", ToolName),
            version=each.value("version", distribution_version, fallback=""),
            sha256=_hash(each),
        )
        for each in tools
    )
    _refuse_twice(tools, [pin.name for pin in pins], "name")
    return pins


def _packages(root: Fields) -> tuple[PackagePin, ...]:
    pins: list[PackagePin] = []
    first: PackagePin | None = None
    listed = root.children("packages")
    for fields in listed:
        pin = _package(fields)
        pins.append(pin)
        if pin.name not in DISTRIBUTIONS:
            continue
        if first is not None and pin.name != first.name:
            known = f"{first.name} {first.version}"
            problem = f"{pin.name} {pin.version} is a second TensorFlow: it overwrites the files of {known}"
            fields.fault("name", problem, "lock again, which keeps that of the environment: `envbuilder lock`")
        first = first or pin
    _refuse_twice(listed, [f"{pin.group} {pin.name}" for pin in pins], "name")
    return tuple(pins)


def _package(fields: Fields) -> PackagePin:
    pin = PackagePin(
        name=fields.value("name", normalized, fallback=""),
        version=fields.value("version", distribution_version, fallback=""),
        file=fields.value("file", distribution_file, fallback=""),
        sha256=_hash(fields),
        group=fields.choice("group", PackageGroup),
        size=_size(fields) if fields.has("size") else 0,
    )
    if pin.name and pin.version and pin.file and not is_file_of(pin.file, pin.name, pin.version):
        fields.fault("file", f"{shown(pin.file)} is not a file of {pin.name} {pin.version}")
    return pin


def _files(root: Fields) -> tuple[OwnFile, ...]:
    files = root.children("files")
    pins = tuple(
        OwnFile(
            path=each.value("path", image_path, fallback=""),
            sha256=_hash(each),
            size=_size(each),
            executable=each.flag("executable", default=False),
        )
        for each in files
    )
    _refuse_twice(files, [pin.path for pin in pins], "path")
    return pins


def _image(fields: Fields) -> ImagePin:
    return ImagePin(
        format=fields.choice("format", LayerFormat),
        manifest=_digest(fields, "manifest"),
        config=_digest(fields, "config"),
        layers=tuple(
            ImageLayerPin(
                id=each.value("id", layer_id, fallback=""),
                key=_digest(each, "key"),
                diff_id=_digest(each, "diff_id"),
                blob=Descriptor(
                    media_type=each.value("type", media_type, fallback=""),
                    digest=_digest(each, "digest"),
                    size=_size(each),
                ),
            )
            for each in fields.children("layers", required=True)
        ),
    )


def _digest(fields: Fields, name: str) -> str:
    return fields.value(name, sha256_digest, fallback="")


def _os_packages(fields: Fields, name: str) -> tuple[OsPackagePin, ...]:
    return tuple(
        OsPackagePin(
            name=each.value("name", debian_name, fallback=""),
            version=each.value("version", _unless_empty(debian_version), fallback=""),
            sha256=_hash(each) if each.has("sha256") else "",
            file=each.value("file", debian_file, fallback="") if each.has("file") else "",
            size=_size(each) if each.has("size") else 0,
        )
        for each in fields.children(name)
    )


def _size(fields: Fields) -> int:
    return fields.integer("size", least=0, most=LARGEST_FILE)


def _refuse_twice(listed: Sequence[Fields], keys: Sequence[str], field: str) -> None:
    """Note a fault for every entry that stands for the same thing as one before it."""
    seen: set[str] = set()
    for fields, key in zip(listed, keys, strict=True):
        if key in seen:
            fields.fault(field, f"{shown(key)} stands here twice")
        seen.add(key)


def _hash(fields: Fields) -> str:
    return fields.value("sha256", sha256, fallback="")


def _unless_empty(parse: Callable[[str], str]) -> Callable[[str], str]:
    """A digest, or nothing for what the lock does not pin."""
    return lambda text: parse(text) if text else ""


def _reference(text: str) -> str:
    """An image reference, unchanged."""
    ImageRef.parse(text)
    return text


def _nothing(text: str) -> str:
    """Nothing: a Debian tree is in no registry."""
    if text:
        raise ValueError("must be empty: a Debian tree is in no registry")
    return text
