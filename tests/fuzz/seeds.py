"""Honest inputs of every format, small; and hostile ones that a mutation does not find soon."""

from __future__ import annotations

import base64
import gzip
import io
import json
import struct
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from envbuilder.catalog.archives import ArchiveFormat
from tests.fakes.run_files import Form, run_file
from tests.fakes.vendor_archives import archive_of
from tests.unit.image.base.deb.debs import Content, ar_of, tar_of
from tests.unit.image.docker.test_buildkit_trace import message, vertex
from tests.unit.image.layers.wheels import shared_library

ROOT = Path(__file__).parents[2]
__all__ = ["shared_library"]
_DIGEST = f"sha256:{'a' * 64}"
CORPUS = Path(__file__).parent / "corpus"


def corpus(name: str) -> tuple[bytes, ...]:
    """Return the inputs that once were faults: the files of a folder of the corpus."""
    folder = CORPUS / name
    return tuple(file.read_bytes() for file in sorted(folder.iterdir())) if folder.is_dir() else ()


def files(*patterns: str, limit: int = 4) -> tuple[bytes, ...]:
    """Return a few of the repository's own files."""
    found = [file for pattern in patterns for file in sorted(ROOT.glob(pattern))[:limit]]
    assert found, patterns
    return tuple(file.read_bytes() for file in found)


def tars() -> tuple[bytes, ...]:
    """Return tars of each dialect, with links, long names, attributes and a whiteout."""
    return (
        *(_tar(form) for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT)),
        _records(b"30 mtime=99999999999999999999\n"),
        _records(b"9" * 5000 + b" uid=1\n"),
        _records(b"20 uid=" + b"9" * 5000 + b"\n"),
        _records(b"25 path=../../etc/passwd\n"),
    )


def _tar(form: int) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=form) as archive:
        for name, kind, link in (
            ("etc", tarfile.DIRTYPE, ""),
            ("etc/passwd", tarfile.REGTYPE, ""),
            ("etc/link", tarfile.SYMTYPE, "passwd"),
            ("etc/hard", tarfile.LNKTYPE, "etc/passwd"),
            ("etc/.wh.gone", tarfile.REGTYPE, ""),
            (f"long/{'x' * 90}", tarfile.REGTYPE, ""),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.uid, info.mtime = kind, link, 1000, 1_700_000_000
            content = b"root:x:0:0:root:/root:/bin/sh\n" if kind == tarfile.REGTYPE else b""
            info.size = len(content)
            if form == tarfile.PAX_FORMAT:
                info.pax_headers = {"SCHILY.xattr.user.a": "b", "mtime": "1700000000.5"}
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def _records(content: bytes) -> bytes:
    """Return a tar with these PAX records in front of a file."""
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, len(content)
    body = content + b"\0" * (-len(content) % 512)
    return info.tobuf(tarfile.USTAR_FORMAT) + body + tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT) + bytes(1024)


def layers() -> tuple[bytes, ...]:
    """Return layers, packed and not."""
    return (*tars(), *(gzip.compress(tar, mtime=0) for tar in tars()))


def zips() -> tuple[bytes, ...]:
    """Return zip archives that are no wheels, stored and deflated."""
    return tuple(
        _zip({"a.txt": b"a" * 100, "d/": b"", "d/b": b"b"}, way) for way in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    )


def _zip(content: Mapping[str, bytes], way: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", way) as archive:
        for name, data in content.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data)
    return stream.getvalue()


def wheel(**changed: bytes) -> bytes:
    """Return a wheel; `record`, `entries`, `metadata` and `wheel` replace the files of its dist-info."""
    info = "toy-1.0.dist-info"
    return _zip(
        {
            "toy/__init__.py": b"x = 1\n",
            "toy-1.0.data/scripts/run": b"#!python\nprint(1)\n",
            f"{info}/METADATA": changed.get("metadata", METADATA),
            f"{info}/WHEEL": changed.get("wheel", b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
            f"{info}/entry_points.txt": changed.get("entries", ENTRY_POINTS),
            f"{info}/RECORD": changed.get("record", RECORD),
        },
        zipfile.ZIP_STORED,
    )


METADATA = b"Metadata-Version: 2.1\nName: toy\nVersion: 1.0\nRequires-Dist: six>=1; extra == 'x'\nProvides-Extra: x\n"
ENTRY_POINTS = b"[console_scripts]\ntoy = toy:main\ntoy2 = toy.sub:a.b [x]\n\n[gui_scripts]\nwin = toy:gui\n"
RECORD = b"toy/__init__.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,6\ntoy-1.0.dist-info/RECORD,,\n"
CONTROL = (
    b"Package: toy\nVersion: 1:1.0-1\nArchitecture: amd64\nDepends: libc6 (>= 2.36), a | b (<< 2)\n"
    b"Provides: virtual (= 1)\nPriority: required\nEssential: yes\nFilename: pool/t/toy.deb\nSize: 100\n"
    b"SHA256: " + b"a" * 64 + b"\nDescription: a toy\n more\n"
)
RELEASE = (
    b"Origin: Debian\nLabel: Debian\nSuite: oldstable\nCodename: bookworm\nDate: Sat, 07 Jun 2025 09:04:06 UTC\n"
    b"Valid-Until: Sat, 14 Jun 2025 09:04:06 UTC\nAcquire-By-Hash: yes\nComponents: main\nSHA256:\n "
    + b"a" * 64
    + b"  1234 main/binary-amd64/Packages.xz\n"
)


def debs() -> tuple[bytes, ...]:
    """Return .deb files, packed in the ways that Debian uses, and one whose part has a negative size."""
    control, data = tar_of({"control": CONTROL, "md5sums": b"x"}), tar_of({"usr/bin/toy": b"x", "etc/toy": b"y"})
    plain = ar_of({"debian-binary": b"2.0\n", "control.tar": control, "data.tar": data})
    packed = ar_of(
        {"debian-binary": b"2.0\n", "control.tar.gz": gzip.compress(control), "data.tar.gz": gzip.compress(data)}
    )
    return plain, packed, plain.replace(f"{len(control):<10}".encode(), b"-60       ")


def vendor_archives() -> tuple[bytes, ...]:
    """Return run files with each form of the header, plain and nested, and the other formats of vendors."""
    tree: dict[str, Content] = {
        "lib64/libx.so.9.0": "liby.so.9.0.1",
        "lib64/liby.so.9.0.1": b"library",
        "doc/EULA.txt": b"license",
    }
    run_files = (run_file(tar_of(tree), form=form) for form in Form)
    return *run_files, *(archive_of(kind, tree) for kind in ArchiveFormat)


def layouts() -> tuple[bytes, ...]:
    """Return OCI layouts and archives by `docker save` whose documents are of any shape."""
    index = {"schemaVersion": 2, "manifests": [{"mediaType": "m", "digest": _DIGEST, "size": 5}]}
    saved = [{"Config": "c.json", "RepoTags": ["a:1"], "Layers": ["l.tar"]}]
    config = {"rootfs": {"type": "layers", "diff_ids": [_DIGEST]}}
    documents = (
        {"oci-layout": {"imageLayoutVersion": "1.0.0"}, "index.json": index},
        {"manifest.json": saved, "c.json": config, "l.tar": {}},
    )
    return tuple(tar_of({name: json.dumps(each).encode() for name, each in one.items()}) for one in documents)


def configurations() -> tuple[bytes, ...]:
    """Return configurations of images, and some whose fields have other types."""
    config = {"User": "1000:1000", "Env": ["PATH=/bin", "A="], "Labels": {"a": "b"}, "WorkingDir": "/w", "Cmd": ["x"]}
    honest = {"config": config, "rootfs": {"type": "layers", "diff_ids": [_DIGEST]}, "history": [{"created_by": "x"}]}
    return tuple(
        json.dumps(each).encode()
        for each in (
            honest,
            {"config": "x", "rootfs": [], "history": 5},
            {"config": {"User": ["x"], "WorkingDir": 7, "Env": ["A", "=b", "C=\0"], "Labels": []}},
        )
    )


def manifests() -> tuple[bytes, ...]:
    """Return a manifest and an index."""
    blob = {"mediaType": "m", "digest": _DIGEST, "size": 5, "platform": {"os": "linux", "architecture": "amd64"}}
    return tuple(
        json.dumps(each).encode()
        for each in ({"schemaVersion": 2, "config": blob, "layers": [blob]}, {"schemaVersion": 2, "manifests": [blob]})
    )


def signatures() -> tuple[bytes, ...]:
    """Return a payload and a key of cosign, a manifest with a signature, and an envelope."""
    blob = {"mediaType": "m", "digest": _DIGEST, "size": 5, "annotations": {"a": "b", "c": 5}}
    envelope = {"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": [{"sig": "AAAA"}]}
    made = (json.dumps(each).encode() for each in ({"layers": [blob, {}]}, envelope))
    return (*made, *files("tests/data/signatures/payload.json", "tests/data/signatures/cosign.pub"))


CATALOG_REFERENCES = (
    b"../catalog",
    b"git+ssh://git@git.example/team/catalog.git@0123456789abcdef0123456789abcdef01234567#subdirectory=tf/catalog",
)
CHALLENGES = (
    b'Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull"',
    b'Basic realm="x", Bearer realm=https://a.example/t , scope="a b"',
    b'Bearer realm="http://["',
)
TOKENS = (b'{"token": "abc", "expires_in": 300}', b'{"access_token": "abc", "expires_in": ' + b"9" * 400 + b"}")
TRACES = (
    base64.b64encode(message(vertex("RUN make"))),
    base64.b64encode(message(vertex("[1/2] FROM x"), vertex("RUN x", digest="sha256:b"))),
)
STREAM = (
    b'{"stream":"Step 1/2 : FROM x\\n"}\n{"stream":" ---> Using cache\\n"}\n{"status":"Pulling","id":"a",'
    b'"progressDetail":{"current":1,"total":2}}\n{"errorDetail":{"code":1,"message":"no"},"error":"no"}\n'
)
OSV = (
    (
        b'{"id":"GHSA-made","modified":"2026-11-20T00:00:00Z","aliases":["CVE-2099-1"],"severity":[{"type":"CVSS_V3",'
        b'"score":"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"}],"affected":[{"package":{"ecosystem":"PyPI","name":"six"},'
        b'"ranges":[{"type":"ECOSYSTEM","events":[{"introduced":"0"},{"fixed":"1.17"}]}],"versions":["1.16.0"]}]}'
    ),
    (
        b'{"id":"X","affected":[{"package":{"ecosystem":"PyPI","name":"protobuf"},"ranges":[{"type":"SEMVER","events":'
        b'[{"introduced":"0"},{"last_affected":"9"}]}],"database_specific":{"severity":"LOW"}}],"withdrawn":""}'
    ),
)
PYLOCK = (
    b'lock-version = "1.0"\n[[packages]]\nname = "six"\nversion = "1.16.0"\nwheels = [{url = '
    b'"https://files.example/six-1.16.0-py2.py3-none-any.whl", size = 11053, hashes = {sha256 = "'
    + b"a" * 64
    + b'"}}]\n'
)
UV_OUTPUT = (
    b"error: Failed to write: No space left on device (os error 28)\n",
    b"  x No solution found when resolving dependencies:\n",
    b"error sending request: invalid peer certificate: Expired\n",
)
DOCKER_CONFIG = (
    json.dumps(
        {
            "auths": {"registry.example": {"auth": base64.b64encode(b"me:secret").decode()}},
            "credHelpers": {},
            "currentContext": "x",
        }
    ).encode(),
)
NETRC = (b"machine files.example login me password secret\ndefault login a password b\nmacdef m\nx\n\n",)
PASSWD = (b"root:x:0:0:root:/root:/bin/sh\napp:x:1000:1000::/home/app:/bin/sh\n",)
PTX = (b"//\n// Generated by NVIDIA NVVM Compiler\n.version 7.4\n.target sm_80, debug\n.address_size 64\n",)
LZ4 = (b"\x50hello\x05\x00\x10a", b"\xf0\xffhello", b"\x1fa\x01\x00\xff\xff\xff")
FATBIN = tuple(
    struct.pack("<4sHHQ", b"\x50\xed\x55\xba", 1, 16, 64 + 80)
    + struct.pack("<HHIQIIHHI8xQ8xQ", kind, 0x101, 64, 80, 0, 0, 0, 8, 0, flags, 80)
    + (PTX[0] + bytes(80))[:80]
    for kind, flags in ((1, 0), (2, 0), (1, 0x2000))
)
BUILD_INFO = (b"build_info = {'cuda_version': '11.2', 'is_cuda_build': True, 'x': ['sm_35', 'compute_80']}\n",)
