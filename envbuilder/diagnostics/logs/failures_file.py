"""Reader and checks of `failures.yaml`."""

from __future__ import annotations

import re
from pathlib import Path

from envbuilder.catalog.load.tables import read_sources
from envbuilder.core.text_files import read_text
from envbuilder.core.versions import Release
from envbuilder.core.yaml.fields import Fields, Reader
from envbuilder.core.yaml.patterns import pattern
from envbuilder.diagnostics.logs.signatures import FailureClass, Failures, Fix, Role, Signature

SCHEMA = 1
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def load_failures(folder: Path) -> Failures:
    """Read and cross-check `failures.yaml` of a catalog.

    Raises:
        InvalidInput: The file has errors; all are reported.
    """
    file = folder / "failures.yaml"
    return read_failures(read_text(file), str(file))


def read_failures(text: str, name: str) -> Failures:
    """Decode and check the document.

    Args:
        text: The YAML.
        name: Name of the document in errors.

    Raises:
        InvalidInput: The document has errors; all are reported.
    """
    reader = Reader(name)
    root = reader.document(text)
    if root.integer("schema") != SCHEMA:
        root.fault("schema", f"must be {SCHEMA}")
    classes = tuple(_failure(each) for each in root.children("classes", required=True))
    signatures = tuple(_signature(each) for each in root.children("signatures", required=True))
    _cross_check(root, classes, signatures)
    reader.finish()
    return Failures(classes=classes, signatures=signatures)


def _failure(fields: Fields) -> FailureClass:
    return FailureClass(
        id=fields.value("id", _id, fallback=""),
        title=fields.text("title"),
        harmless=fields.flag("harmless", default=False),
        cause=fields.text("cause"),
        fix=fields.text("fix"),
        commands=fields.texts("commands", str),
        fixes=tuple(_fix(each) for each in fields.children("fixes")),
        tell=fields.text("tell", ""),
        explains=fields.texts("explains", str),
    )


def _fix(fields: Fields) -> Fix:
    return Fix(
        since=_release(fields, "since"),
        until=_release(fields, "until"),
        text=fields.text("text"),
        commands=fields.texts("commands", str),
    )


def _signature(fields: Fields) -> Signature:
    signature = Signature(
        id=fields.value("id", _id, fallback=""),
        failure=fields.text("class", ""),
        role=fields.choice("role", Role, Role.CAUSE),
        anchors=fields.texts("anchors", _anchor),
        pattern=fields.value("pattern", pattern, fallback="x"),
        weight=fields.integer("weight", 0),
        only_with=fields.texts("only_with", str),
        not_with=fields.texts("not_with", str),
        cause=fields.text("cause", ""),
        fix=fields.text("fix", ""),
        commands=fields.texts("commands", str),
        at_end=fields.flag("at_end", default=False),
        fallback=fields.flag("fallback", default=False),
        since=_release(fields, "since"),
        until=_release(fields, "until"),
        examples=fields.texts("examples", str, required=True),
        near_misses=fields.texts("near_misses", str),
        sources=read_sources(fields),
    )
    if bool(signature.anchors) == signature.at_end:
        fields.fault("anchors", "a signature has anchors, or it is tried at the end of a log")
    if (signature.role is Role.CAUSE) != bool(signature.failure):
        fields.fault("class", "a cause names its class, and nothing else does")
    if signature.role is Role.CAUSE and not 1 <= signature.weight <= 99:
        fields.fault("weight", "must be a percentage from 1 to 99")
    return signature


def _release(fields: Fields, name: str) -> Release | None:
    return fields.release(name) if fields.has(name) else None


def _id(text: str) -> str:
    if not _ID.fullmatch(text):
        raise ValueError(f"{text!r} must be lower-case words joined by hyphens")
    return text


def _anchor(text: str) -> str:
    if sum(letter.isalpha() or letter in ":_[]()/," for letter in text) < 3:
        raise ValueError("must have at least three letters")
    if not text.isascii():
        raise ValueError("must be ASCII, to match logs in any encoding")
    return text


def _cross_check(root: Fields, classes: tuple[FailureClass, ...], signatures: tuple[Signature, ...]) -> None:
    names = [each.id for each in classes]
    known = [each.id for each in signatures]
    for listed, field in ((names, "classes"), (known, "signatures")):
        for name in sorted({name for name in listed if listed.count(name) > 1}):
            root.fault_at(f"{field}[{len(listed) - 1 - listed[::-1].index(name)}].id", f"{name!r} is a duplicate")
    for index, failure in enumerate(classes):
        for name in sorted(set(failure.explains) - set(names)):
            root.fault_at(f"classes[{index}].explains", f"there is no class {name!r}")
    for index, signature in enumerate(signatures):
        if signature.failure and signature.failure not in names:
            root.fault_at(f"signatures[{index}].class", f"there is no class {signature.failure!r}")
        for name in sorted({*signature.only_with, *signature.not_with} - set(known)):
            root.fault_at(f"signatures[{index}].only_with", f"there is no signature {name!r}")
