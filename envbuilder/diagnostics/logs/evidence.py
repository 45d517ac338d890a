"""The evidence in a log, and the versions, GPUs and memory that it states."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from envbuilder.core.versions import Release, release_of
from envbuilder.diagnostics.logs.signatures import Role, Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One line that matches a signature.

    Attributes:
        line: Its number, from 1.
        captured: Named groups of the pattern that took part.
    """

    line: int
    text: str
    captured: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """All matches of one signature.

    Attributes:
        samples: The first ones and the last ones, by line; at least one.
    """

    signature: Signature
    count: int
    last: int
    samples: tuple[Sample, ...]

    @property
    def first(self) -> int:
        """Number of the first line."""
        return self.samples[0].line

    def captures(self, name: str) -> tuple[str, ...]:
        """Return the captures of a group, in line order."""
        return tuple(sample.captured[name] for sample in self.samples if name in sample.captured)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence of a whole log.

    Attributes:
        hits: By id of the signature, in order of the first line.
    """

    lines: int
    hits: Mapping[str, Hit]

    def has(self, *names: str) -> bool:
        """Return True if at least one of these signatures matched."""
        return any(name in self.hits for name in names)

    def last(self, *names: str) -> int:
        """Return the last line that one of these signatures matched; 0 if none did."""
        return max((self.hits[name].last for name in names if name in self.hits), default=0)

    def captures(self, *groups: str) -> tuple[str, ...]:
        """Return the captures of groups of these names, in the order of the hits."""
        return tuple(text for hit in self.hits.values() for group in groups for text in hit.captures(group))

    def releases(self, *groups: str) -> tuple[Release, ...]:
        """Return the captures of groups of these names that are releases."""
        found = (release_of(text.rstrip(".")) for text in self.captures(*groups))
        return tuple(release for release in found if release is not None)

    def of(self, role: Role) -> tuple[Hit, ...]:
        """Return the hits of one role whose `only_with` and `not_with` hold."""
        return tuple(hit for hit in self.hits.values() if hit.signature.role is role and self._stands(hit.signature))

    def _stands(self, signature: Signature) -> bool:
        wanted = not signature.only_with or self.has(*signature.only_with)
        return wanted and not self.has(*signature.not_with)


_UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"([0-9.]+) ?([KMGT]?)i?B?")
_RELEASE = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFacts:
    """Statements of a log; missing ones are None or empty.

    Attributes:
        since: Oldest TensorFlow that writes the messages that were found.
        until: Newest TensorFlow that writes them.
        python: Release of the interpreter.
        keras: Release of a Keras of its own.
        cuda: CUDA toolkit that is named, in paths or by its compiler.
        cudnn: cuDNN that was loaded.
        cudnn_compiled: cuDNN that TensorFlow was compiled with.
        driver: Driver; that of the kernel module where both are known.
        driver_library: User library of the driver, where it differs or nothing else is known.
        gpus: Names of GPUs, as logged, each once.
        capabilities: Compute capabilities of GPUs, each once.
        sonames: CUDA and cuDNN libraries that were missed, each once.
        memory: Bytes of the GPU.
        free: Bytes that were free when TensorFlow started.
        requested: Bytes of the allocations that failed, smallest first.
        allocator_limit: Bytes that the allocator may take.
        allocator_used: Bytes in use when it failed.
        allocator_left: Bytes that it might still take from the device.
    """

    tensorflow: Release | None
    since: Release | None
    until: Release | None
    python: Release | None
    keras: Release | None
    cuda: Release | None
    cudnn: Release | None
    cudnn_compiled: Release | None
    driver: Release | None
    driver_library: Release | None
    gpus: tuple[str, ...]
    capabilities: tuple[Release, ...]
    sonames: tuple[str, ...]
    memory: int | None
    free: int | None
    requested: tuple[int, ...]
    allocator_limit: int | None
    allocator_used: int | None
    allocator_left: int | None


def extracted(evidence: Evidence) -> ExtractedFacts:
    """Return the statements in the captured groups."""
    get = evidence.captures
    signatures = [hit.signature for hit in evidence.hits.values()]
    python = _most_common(_dotted(text) for text in get("python", "python2", "python_tag"))
    library = _most_common(get("driver_library"))
    return ExtractedFacts(
        tensorflow=_most_common(get("tensorflow")),
        since=max((each.since for each in signatures if each.since), default=None),
        until=min((each.until for each in signatures if each.until), default=None),
        python=python,
        keras=_most_common(get("keras")),
        cuda=_most_common(get("cuda", "cuda2", "cuda3", "cuda4")) or _most_common(get("cuda_path", "cuda_win")),
        cudnn=_cudnn(get("cudnn_loaded", "cudnn_number")),
        cudnn_compiled=_cudnn(get("cudnn_compiled")),
        driver=_most_common(get("kernel")) or _most_common(get("driver", "driver_k")) or library,
        driver_library=library,
        gpus=tuple(dict.fromkeys(get("gpu"))),
        capabilities=_capabilities(evidence),
        sonames=tuple(dict.fromkeys(get("soname", "soname2"))),
        memory=_largest(get("memory_total")),
        free=_smallest(get("memory_free")),
        requested=tuple(sorted(size for size in map(size_of, get("requested_bytes", "requested")) if size)),
        allocator_limit=_smallest(get("bfc_limit", "bfc_memory_limit")),
        allocator_used=_largest(get("bfc_in_use")),
        allocator_left=_largest(get("bfc_available")),
    )


def size_of(text: str) -> int:
    """Return the bytes of a size as TensorFlow writes it.

    Example:
        >>> size_of("1.50GiB"), size_of("163.62M"), size_of("4146896640")
        (1610612736, 171568005, 4146896640)
    """
    match = _SIZE.match(text)
    if match is None or match[1].count(".") > 1 or match[1].strip(".") == "":
        return 0
    return int(float(match[1]) * _UNITS[match[2]])


def _most_common(texts: Iterable[str]) -> Release | None:
    counted = Counter(text.rstrip(".") for text in texts)
    best = next((text for text, _ in counted.most_common() if _RELEASE.fullmatch(text)), None)
    return Release(best) if best else None


def _dotted(text: str) -> str:
    """Return `36` and `310` of a wheel's tag or a Windows directory with their dot."""
    return text if "." in text or len(text) < 2 else f"{text[0]}.{text[1:]}"


def _cudnn(texts: tuple[str, ...]) -> Release | None:
    """Return a release of cuDNN, which old messages write as one number: 5110 is 5.1.10."""
    for text in texts:
        if text.isascii() and text.isdigit() and 4 <= len(text) <= 9:
            number = int(text)
            major = number // 10000 if number >= 90000 else number // 1000
            rest = number % 10000 if number >= 90000 else number % 1000
            return Release(f"{major}.{rest // 100}.{rest % 100}")
        if _RELEASE.fullmatch(text.rstrip(".")):
            return Release(text.rstrip("."))
    return None


def _capabilities(evidence: Evidence) -> tuple[Release, ...]:
    found = [text.rstrip("a") for text in evidence.captures("capability", "capability2")]
    samples = [sample.captured for hit in evidence.hits.values() for sample in hit.samples]
    found += [f"{each['major']}.{each['minor']}" for each in samples if "major" in each and "minor" in each]
    return tuple(Release(text) for text in dict.fromkeys(found) if _RELEASE.fullmatch(text))


def _largest(texts: tuple[str, ...]) -> int | None:
    return max(map(size_of, texts), default=None)


def _smallest(texts: tuple[str, ...]) -> int | None:
    return min(map(size_of, texts), default=None)
