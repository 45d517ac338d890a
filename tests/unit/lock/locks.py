"""Any lock that there could be, for properties."""

from __future__ import annotations

from hypothesis import strategies as st

from envbuilder.catalog.archives import ArchivedLibrary, ArchiveFormat, ArchivePin
from envbuilder.catalog.cuda import LibraryLink
from envbuilder.catalog.environments import BaseKind, CudaProvider, PythonProvider
from envbuilder.core.memory_policy import parse
from envbuilder.core.names import variable_problem
from envbuilder.core.versions import Release
from envbuilder.lock.container_settings import ContainerSettings, Healthcheck, User
from envbuilder.lock.lock import (
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
)

# What one line of a spec or a matrix can hold.
LINES = st.text(st.characters(min_codepoint=32, max_codepoint=0x7E) | st.sampled_from("äß€語😀"), max_size=16)
NAMES = st.from_regex(r"[a-z0-9]{1,6}(-[a-z0-9]{1,4})?", fullmatch=True)
HASHES = st.text("0123456789abcdef", min_size=64, max_size=64)
RELEASES = st.lists(st.integers(0, 99), min_size=1, max_size=3).map(lambda parts: Release(".".join(map(str, parts))))
KEYS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_. -]{0,10}", fullmatch=True)
PAIRS = st.dictionaries(KEYS, LINES, max_size=3).map(lambda pairs: tuple(sorted(pairs.items())))
VARIABLES = st.dictionaries(
    st.from_regex(r"[A-Z][A-Z0-9_]{0,5}", fullmatch=True).filter(lambda name: not variable_problem(name)),
    LINES,
    max_size=3,
).map(lambda pairs: tuple(sorted(pairs.items())))

VERSIONS = st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){0,2}(rc1|\.post2|\+cu118)?", fullmatch=True)
DEBIAN_NAMES = st.from_regex(r"[a-z0-9][a-z0-9+.-]{1,8}", fullmatch=True)
DEBIAN_VERSIONS = st.from_regex(r"(1:)?[0-9][A-Za-z0-9.+~-]{0,6}", fullmatch=True)
DEBIAN_FILES = st.from_regex(
    r"pool/main/[a-z]/[a-z]{2,5}/[a-z]{2,5}_[0-9]{1,3}(%3a|~rc1|\+b2)?_amd64\.deb", fullmatch=True
)
FILE_NAMES = st.from_regex(r"[A-Za-z0-9_][ A-Za-z0-9_.+-]{0,20}\.tar\.gz", fullmatch=True)
PYTHON_VERSIONS = st.from_regex(r"3\.(6|1[0-4])(\.[0-9]{1,2})?", fullmatch=True).map(Release)

OS_PACKAGES = st.builds(
    OsPackagePin,
    name=DEBIAN_NAMES,
    version=DEBIAN_VERSIONS | st.just(""),
    sha256=HASHES | st.just(""),
    file=st.just(""),
) | st.builds(
    OsPackagePin,
    name=DEBIAN_NAMES,
    version=DEBIAN_VERSIONS,
    sha256=HASHES,
    file=DEBIAN_FILES,
    size=st.integers(0, 2**40),
)


@st.composite
def packages(draw: st.DrawFn) -> PackagePin:
    """A wheel or a source distribution with the name and version that its pin says."""
    name, version = draw(NAMES), draw(VERSIONS)
    suffix = draw(st.sampled_from(["-py3-none-any.whl", "-1-cp310-cp310-manylinux1_x86_64.whl", ".tar.gz", ".zip"]))
    stem = name.replace("-", "_") if suffix.endswith(".whl") else name
    group, size = draw(st.sampled_from(PackageGroup)), draw(st.integers(0, 2**40))
    file = f"{stem}-{version}{suffix}"
    return PackagePin(name=name, version=version, file=file, sha256=draw(HASHES), group=group, size=size)


PACKAGES = packages()
TOOLS = st.builds(ToolPin, name=st.sampled_from(ToolName), version=VERSIONS, sha256=HASHES)
LINKS = st.builds(LibraryLink, name=NAMES, target=NAMES)
BASES = st.builds(
    BasePin,
    id=NAMES,
    kind=st.just(BaseKind.IMAGE),
    image=st.sampled_from(["nvidia/cuda:11.0.3", "debian:12", "localhost:5000/team/base:1"]),
    digest=HASHES.map("sha256:{}".format) | st.just(""),
    packages=st.just(()),
) | st.builds(
    BasePin,
    id=NAMES,
    kind=st.just(BaseKind.DEBIAN),
    image=st.just(""),
    digest=HASHES.map("sha256:{}".format) | st.just(""),
    packages=st.lists(OS_PACKAGES, max_size=2).map(tuple),
    missing=st.lists(st.from_regex(r"[a-z]{1,6}-(updates|security)", fullmatch=True), max_size=2).map(tuple),
)
PYTHONS = st.builds(PythonPin, version=PYTHON_VERSIONS, provider=st.just(PythonProvider.OS)) | st.builds(
    PythonPin,
    version=PYTHON_VERSIONS,
    provider=st.just(PythonProvider.ARCHIVE),
    file=FILE_NAMES,
    sha256=HASHES | st.just(""),
)
LIBRARIES = st.from_regex(r"lib[a-z]{1,6}\.so\.[0-9]{1,2}", fullmatch=True)
MEMBERS = st.from_regex(r"[A-Za-z0-9_.+]{1,5}x(/[A-Za-z0-9_]{1,5}){0,2}", fullmatch=True)
_ARCHIVE = {
    "id": NAMES,
    "publisher": NAMES,
    "path": MEMBERS | st.just(""),
    "file": FILE_NAMES,
    "sha256": HASHES,
    "size": st.integers(0, 2**40),
    "eula": MEMBERS | st.just(""),
    "libraries": st.lists(
        st.builds(ArchivedLibrary, soname=LIBRARIES, path=MEMBERS, sha256=HASHES | st.just("")),
        min_size=1,
        max_size=2,
        unique_by=lambda pin: pin.soname,
    ).map(tuple),
}
ARCHIVES = st.builds(
    ArchivePin,
    format=st.sampled_from([each for each in ArchiveFormat if each is not ArchiveFormat.MAKESELF_NESTED]),
    **_ARCHIVE,
) | st.builds(ArchivePin, format=st.just(ArchiveFormat.MAKESELF_NESTED), inner=MEMBERS, **_ARCHIVE)
_CUDA = {
    "cuda": RELEASES,
    "cudnn": RELEASES,
    "driver": RELEASES,
    "sonames": st.lists(LIBRARIES, max_size=3).map(tuple),
    "require": st.sampled_from(["", "arch>=7.5,driver>=525.60.13", "arch>=5.0,arch<7.5,driver<581 arch>=7.5"]),
    "links": st.lists(LINKS, max_size=2).map(tuple),
}
CUDAS = st.builds(
    CudaPin,
    provider=st.sampled_from([each for each in CudaProvider if each is not CudaProvider.ARCHIVE]),
    **_CUDA,
) | st.builds(
    CudaPin, provider=st.just(CudaProvider.ARCHIVE), archives=ARCHIVES.map(lambda archive: (archive,)), **_CUDA
)
FILES = st.builds(
    OwnFile,
    path=st.from_regex(r"/(app|workspace)(/[a-z0-9._-]{0,5}[a-z]){1,2}", fullmatch=True),
    sha256=HASHES,
    size=st.integers(0, 2**40),
    executable=st.booleans(),
)
PRIORITIZED = st.dictionaries(
    st.sampled_from(["base", "own", "packages", "framework.tensorflow"]),
    st.lists(st.from_regex(r"/(usr|opt)(/[A-Za-z0-9_+. -]{0,5}[a-z]){1,3}", fullmatch=True), max_size=3, unique=True)
    .map(sorted)
    .map(tuple),
    max_size=2,
).map(lambda layers: tuple(sorted(layers.items())))
TEXTS = st.lists(LINES, max_size=2).map(tuple)
WORDS = st.lists(LINES.filter(bool), max_size=3).map(tuple)
SETTINGS = st.builds(
    ContainerSettings,
    command=st.none() | WORDS,
    entrypoint=st.none() | WORDS,
    ports=st.lists(st.integers(1, 65535).map("{}/tcp".format), max_size=2).map(lambda ports: tuple(sorted(ports))),
    labels=st.dictionaries(st.from_regex(r"[a-z]{1,3}(\.[a-z]{1,3}){0,2}", fullmatch=True), LINES, max_size=2).map(
        lambda pairs: tuple(sorted(pairs.items()))
    ),
    workdir=st.sampled_from(["", "/srv/model", "/data"]),
    healthcheck=st.none()
    | st.builds(
        Healthcheck,
        command=WORDS.filter(bool),
        interval=st.integers(1, 86400),
        timeout=st.integers(1, 86400),
        start_period=st.integers(0, 86400),
        retries=st.integers(1, 9),
    ),
)
LOCKS = st.builds(
    Lock,
    environment=NAMES,
    summary=LINES,
    framework=NAMES,
    framework_version=VERSIONS,
    base=BASES,
    python=PYTHONS,
    cuda=st.none() | CUDAS,
    profiles=st.lists(NAMES, max_size=2, unique=True).map(sorted).map(tuple),
    packages=st.lists(PACKAGES, max_size=3, unique_by=lambda pin: (pin.group, pin.name)).map(tuple),
    os_packages=st.lists(OS_PACKAGES, max_size=2).map(tuple),
    build_os_packages=st.lists(OS_PACKAGES, max_size=1).map(tuple),
    tools=st.lists(TOOLS, max_size=2, unique_by=lambda pin: pin.name).map(tuple),
    env=VARIABLES,
    settings=SETTINGS,
    user=st.builds(
        User,
        name=st.from_regex(r"[a-z_][a-z0-9_-]{0,8}", fullmatch=True).filter(lambda name: name != "root"),
        uid=st.integers(1, 2**31 - 2),
        gid=st.integers(1, 2**31 - 2),
    ),
    memory=st.sampled_from(["all", "growth", "fraction:0.8", "limit:4GiB,growth", "async-allocator"]).map(parse),
    deviations=TEXTS,
    refused=st.lists(NAMES, max_size=2).map(tuple),
    sources=TEXTS,
    inputs=PAIRS,
    epoch=st.integers(0, 2**33 - 1),
    files=st.lists(FILES, max_size=2, unique_by=lambda file: file.path).map(tuple),
    prioritized_files=PRIORITIZED,
    name=st.sampled_from(["", "vision", "nlp-2_a.b"]),
)
