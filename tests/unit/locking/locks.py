"""Any lock that there could be, for properties."""

from __future__ import annotations

from hypothesis import strategies as st

from envbuilder.model.cuda import LibraryLink
from envbuilder.model.locks import (
    BasePin,
    CudaPin,
    Lock,
    OsPackagePin,
    OwnFile,
    PackageGroup,
    PackagePin,
    PythonPin,
    ToolPin,
    User,
)
from envbuilder.model.memory import parse
from envbuilder.model.rows import BaseKind, CudaProvider, PythonProvider
from envbuilder.model.versions import Release

# What one line of a spec or a matrix can hold.
LINES = st.text(st.characters(min_codepoint=32, max_codepoint=0x7E) | st.sampled_from("äß€語😀"), max_size=16)
NAMES = st.from_regex(r"[a-z0-9]{1,6}(-[a-z0-9]{1,4})?", fullmatch=True)
HASHES = st.text("0123456789abcdef", min_size=64, max_size=64)
RELEASES = st.lists(st.integers(0, 99), min_size=1, max_size=3).map(lambda parts: Release(".".join(map(str, parts))))
KEYS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_. -]{0,10}", fullmatch=True)
PAIRS = st.dictionaries(KEYS, LINES, max_size=3).map(lambda pairs: tuple(sorted(pairs.items())))

OS_PACKAGES = st.builds(OsPackagePin, name=NAMES, version=LINES, sha256=HASHES | st.just(""))
PACKAGES = st.builds(
    PackagePin, name=NAMES, version=LINES, file=LINES, sha256=HASHES, group=st.sampled_from(PackageGroup)
)
TOOLS = st.builds(ToolPin, name=NAMES, version=LINES, sha256=HASHES)
LINKS = st.builds(LibraryLink, name=NAMES, target=NAMES)
BASES = st.builds(
    BasePin,
    id=NAMES,
    kind=st.sampled_from(BaseKind),
    image=LINES,
    digest=HASHES.map("sha256:{}".format) | st.just(""),
    packages=st.lists(OS_PACKAGES, max_size=2).map(tuple),
)
PYTHONS = st.builds(PythonPin, version=RELEASES, provider=st.just(PythonProvider.OS)) | st.builds(
    PythonPin,
    version=RELEASES,
    provider=st.just(PythonProvider.ARCHIVE),
    file=LINES.filter(bool),
    sha256=HASHES | st.just(""),
)
CUDAS = st.builds(
    CudaPin,
    provider=st.sampled_from(CudaProvider),
    cuda=RELEASES,
    cudnn=RELEASES,
    driver=RELEASES,
    sonames=st.lists(LINES, max_size=3).map(tuple),
    links=st.lists(LINKS, max_size=2).map(tuple),
)
FILES = st.builds(
    OwnFile,
    path=st.from_regex(r"/(app|workspace)(/[a-z0-9._-]{0,5}[a-z]){1,2}", fullmatch=True),
    sha256=HASHES,
    size=st.integers(0, 2**40),
    executable=st.booleans(),
)
TEXTS = st.lists(LINES, max_size=2).map(tuple)
LOCKS = st.builds(
    Lock,
    environment=LINES,
    summary=LINES,
    framework=NAMES,
    framework_version=LINES,
    base=BASES,
    python=PYTHONS,
    cuda=st.none() | CUDAS,
    packages=st.lists(PACKAGES, max_size=3, unique_by=lambda pin: (pin.group, pin.name)).map(tuple),
    os_packages=st.lists(OS_PACKAGES, max_size=2).map(tuple),
    tools=st.lists(TOOLS, max_size=2).map(tuple),
    env=PAIRS,
    user=st.builds(User, name=LINES, uid=st.integers(0, 2**31), gid=st.integers(0, 2**31)),
    memory=st.sampled_from(["all", "growth", "fraction:0.8", "limit:4GiB,growth", "async-allocator"]).map(parse),
    deviations=TEXTS,
    refused=TEXTS,
    sources=TEXTS,
    inputs=PAIRS,
    epoch=st.integers(0, 2**40),
    files=st.lists(FILES, max_size=2).map(tuple),
    name=st.sampled_from(["", "vision", "nlp-2_a.b"]),
)
