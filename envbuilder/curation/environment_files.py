"""Documents of rows: write a measurement into a row's file, or make a new row from an earlier one.

Only measured fields are changed; order of fields, comments at the top and everything else stay.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from envbuilder.catalog.claims import Claims, CudaClaims
from envbuilder.catalog.cuda import LibrarySet
from envbuilder.core import structure
from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.core.files import read_text
from envbuilder.core.versions import Release
from envbuilder.core.yaml.canonical import Plain, dump
from envbuilder.core.yaml.documents import parse
from envbuilder.core.yaml.structured import plain_of

_FEATURES = ("libcupti.so", "libnvshmem_host.so")
"""Libraries of the profiler and of multi-node communication, which are optional."""

_TENSORFLOW_ORDER = (
    "package", "version", "pythons", "others", "glibc", "glibcxx", "needs_avx", "measured", "sources",
)  # fmt: skip
_CUDA_ORDER = ("compiled", "linkage", "sonames", "optional", "cudnn", "code")


def read_document(path: Path) -> tuple[str, dict[str, Plain]]:
    """Read a row's file.

    Returns:
        The comments at its top, and its fields.

    Raises:
        InvalidInput: The file cannot be read.
    """
    text = read_text(path)
    try:
        value = plain_of(parse(text, str(path)))
    except ValueError as error:
        raise InvalidInput((Fault(file=str(path), line=0, field="", problem=f"cannot be read: {error}"),)) from error
    if not isinstance(value, dict):
        raise InvalidInput((Fault(file=str(path), line=1, field="", problem="must have fields (`name: value`)"),))
    lines = text.splitlines(keepends=True)
    first = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "".join(lines[:first]), value


def document_text(comments: str, document: dict[str, Plain]) -> str:
    """Return the canonical text of a row's file."""
    return comments + dump(document)


def with_measured(document: dict[str, Plain], claims: Claims, *, sha256: str, source: str) -> dict[str, Plain]:
    """Return a row's document with the measurement in place of its claims.

    `source` names the wheel and the date; it replaces the source that names another wheel.
    """
    tensorflow = _mapping(document.get("tensorflow"))
    tensorflow["glibc"] = claims.glibc.text
    tensorflow["glibcxx"] = claims.glibcxx.text
    if claims.needs_avx is not None:
        tensorflow["needs_avx"] = claims.needs_avx
    tensorflow["measured"] = sha256
    kept = [text for text in _texts(tensorflow.get("sources")) if "measured" not in text and "the wheel" not in text]
    tensorflow["sources"] = [source, *kept]
    changed = {**document, "tensorflow": _ordered(tensorflow, _TENSORFLOW_ORDER)}
    if claims.cuda is not None:
        changed["cuda"] = _with_cuda(_mapping(document.get("cuda")), claims.cuda)
    return changed


def with_library_set(path: Path, entry: LibrarySet) -> str:
    """Return the text of `libraries.yaml` with one more set at its end."""
    comments, document = read_document(path)
    known = document.get("libraries")
    return document_text(
        comments, {**document, "libraries": [*(known if isinstance(known, list) else []), structure.dump(entry)]}
    )


def _with_cuda(before: dict[str, Plain], cuda: CudaClaims) -> dict[str, Plain]:
    after = dict(before)
    if cuda.compiled is not None:
        after["compiled"] = cuda.compiled.series
    after["linkage"] = cuda.linkage
    if cuda.sonames:
        after |= _sonames(cuda.sonames, keep_empty="optional" in before)
    if cuda.cudnn is not None:
        known = str(_mapping(before.get("cudnn")).get("compiled", ""))
        seen = cuda.cudnn.compiled.text
        compiled = Release(known) if known.startswith(f"{seen}.") else cuda.cudnn.compiled
        after["cudnn"] = structure.dump(replace(cuda.cudnn, compiled=compiled))
    after["code"] = [structure.dump(family) for family in cuda.families]
    return _ordered(after, _CUDA_ORDER)


def _sonames(sonames: tuple[str, ...], *, keep_empty: bool) -> dict[str, Plain]:
    always: list[Plain] = [soname for soname in sonames if not soname.startswith(_FEATURES)]
    optional: list[Plain] = [soname for soname in sonames if soname.startswith(_FEATURES)]
    named: dict[str, Plain] = {"sonames": always}
    return {**named, "optional": optional} if optional or keep_empty else named


def _ordered(document: dict[str, Plain], order: tuple[str, ...]) -> dict[str, Plain]:
    known = {name: document[name] for name in order if name in document}
    return known | {name: value for name, value in document.items() if name not in known}


def _mapping(value: Plain | None) -> dict[str, Plain]:
    return dict(value) if isinstance(value, dict) else {}


def _texts(value: Plain | None) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
