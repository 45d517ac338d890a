"""The parsers of outside data, each with honest inputs: a new parser gets a function and a line here."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from envbuilder.catalog.archives import ArchiveFormat
from envbuilder.catalog.buildable import Inventory
from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.catalog.references import catalog_reference
from envbuilder.cli.output.doctor_text import doctor_text
from envbuilder.cluster.fleet.collection import open_collection
from envbuilder.cluster.fleet.fleet_check import check_fleet
from envbuilder.cluster.fleet.fleet_images import image_of_environment
from envbuilder.cluster.fleet.node_names import expand_names, fold_names
from envbuilder.cluster.fleet.report.formats import FLEET_FORMATS
from envbuilder.core.archives.extraction import extract
from envbuilder.core.archives.tar_reader import TarReader
from envbuilder.core.corrupt_file import Damaged
from envbuilder.core.elf import DataSection, open_elf, read_shared_object
from envbuilder.core.elf_segments import read_dynamic_names
from envbuilder.core.errors import EnvbuilderError
from envbuilder.core.http.credentials import netrc_logins
from envbuilder.core.http.limits import decimal
from envbuilder.core.http.origins import scheme_of
from envbuilder.core.http.retries import retry_after
from envbuilder.core.json_fields import parsed, record, records
from envbuilder.core.references import ImageRef
from envbuilder.core.uv import failure_of, read_pylock
from envbuilder.core.yaml.documents import parse
from envbuilder.curation.wheel_audit.build_info import read_build_info
from envbuilder.curation.wheel_audit.fatbins import read_ptx_header
from envbuilder.curation.wheel_audit.gpu_code import read_gpu_code
from envbuilder.curation.wheel_audit.lz4 import unpack_start
from envbuilder.curation.wheel_audit.metadata import read_metadata
from envbuilder.diagnostics.compare.compare import compare
from envbuilder.diagnostics.compare.systems import system_of
from envbuilder.diagnostics.doctor import decode_host_environment, read_facts_file
from envbuilder.diagnostics.host.table import examine_machine
from envbuilder.diagnostics.logs.scanner import scan
from envbuilder.diagnostics.logs.signatures import Failures, load_failures
from envbuilder.diagnostics.multi_node.facts import decode_worker, gather
from envbuilder.diagnostics.multi_node.judge import judge
from envbuilder.diagnostics.probe.decoding import decode
from envbuilder.diagnostics.report.registry import FORMATS
from envbuilder.diagnostics.validate import validate_facts
from envbuilder.diagnostics.vulnerabilities.database import Database
from envbuilder.diagnostics.vulnerabilities.scan import scan as scan_vulnerabilities
from envbuilder.image.attestation import dsse
from envbuilder.image.attestation.cosign_layout import signed_digest, signed_layer
from envbuilder.image.attestation.signing_keys import PublicKey, public_key
from envbuilder.image.base.deb.package_file import open_deb
from envbuilder.image.base.deb.packages import PackageIndex
from envbuilder.image.base.deb.release import parse_release
from envbuilder.image.base.deb.resolver import base_packages, resolve
from envbuilder.image.docker.buildkit_trace import TraceReader
from envbuilder.image.docker.classic_stream import ClassicReader
from envbuilder.image.docker.endpoint import endpoint
from envbuilder.image.docker.protobuf_wire import MalformedMessage
from envbuilder.image.layer_contents import config_of
from envbuilder.image.layers.wheel_file import open_wheel
from envbuilder.image.layers.wheels import Prefix, installed
from envbuilder.image.running.process_settings import account, settings_of
from envbuilder.image.vendor.extraction import extract as extract_libraries
from envbuilder.lock.index.uv_index import _files
from envbuilder.lock.lockfile import load
from envbuilder.lock.prioritized_files import dump_prioritized, load_prioritized
from envbuilder.lock.resolve.shipped_closures import ClosureFolder
from envbuilder.oci.documents import descriptor
from envbuilder.oci.layout.layer_compression import unpacked
from envbuilder.oci.layout.stored_images import read_layout
from envbuilder.oci.registry.auth import chosen
from envbuilder.oci.registry.credentials import RegistryLogins
from envbuilder.oci.registry.failures import error_message
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import member_of, of_tar
from tests.fakes.specs import read_spec
from tests.fakes.vendor_archives import pin_of
from tests.fuzz import seeds

_MATRICES = Path(__file__).parents[2] / "matrices"
_PREFIX = Prefix(venv="opt/venv", series="3.11")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parser:
    """A parser of outside data.

    Attributes:
        run: Parses bytes, with an empty folder for what it needs.
        seeds: Makes honest inputs.
        refuses: What it may raise beside `EnvbuilderError`; its callers turn that into one of ours.
    """

    run: Callable[[bytes, Path], object]
    seeds: Callable[[], tuple[bytes, ...]]
    refuses: tuple[type[Exception], ...] = ()


def _file(content: bytes, folder: Path, name: str = "input") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _packages(content: bytes, _: Path) -> object:
    index = PackageIndex([(content, "")])
    with suppress(EnvbuilderError):
        base_packages(index, ["toy"])
    return index.essential, index.providers("virtual"), resolve(index, ["toy"])


def _deb(content: bytes, folder: Path) -> object:
    opened = open_deb(_file(content, folder), "toy.deb", folder)
    return [member.read() for member in opened.members], opened.control


def _wheel(content: bytes, folder: Path) -> object:
    return [entry.path for entry in installed(open_wheel(_file(content, folder), "toy-1.0-py3-none-any.whl"), _PREFIX)]


def _extract(content: bytes, folder: Path) -> object:
    target = folder / "target"
    target.mkdir()
    extract(_file(content, folder), target)
    return None


def _vendor_archive(content: bytes, folder: Path) -> object:
    file, store = _file(content, folder), Store(folder=folder / "store")
    found = []
    for kind in ArchiveFormat:
        with suppress(EnvbuilderError):
            found.append(extract_libraries(pin_of(content, kind), file, store, lambda _: None))
    return found


def _layer(content: bytes, folder: Path) -> object:
    with unpacked(_file(content, folder)) as stream:
        layer = TarReader(stream, "layer")
        return [(member_of(entry), b"".join(layer.content())) for entry in layer.entries()]


def _layout(content: bytes, folder: Path) -> object:
    return read_layout(_file(content, folder, "layout.tar"))


def _settings(content: bytes, folder: Path) -> object:
    found = settings_of(content)
    for text in (*found.command, *(f"{name}={value}" for name, value in found.env), found.folder):
        assert "\0" not in text
    config_of(content)
    return account(folder, found.user)


def _passwd(content: bytes, folder: Path) -> object:
    (folder / "etc").mkdir()
    for name in ("passwd", "group"):
        _file(content, folder / "etc", name)
    return account(folder, "app:app")


def _manifest(content: bytes, _: Path) -> object:
    found = parsed(content)
    return [descriptor(each) for each in (record(found, "config"), *records(found, "layers"))], error_message(
        500, content
    )


def _signature(content: bytes, folder: Path) -> object:
    layers = [signed_layer(each) for each in records(parsed(content), "layers")]
    opened = dsse.opened(content, "application/vnd.in-toto+json", PublicKey(b""))
    return layers, opened, signed_digest(content), public_key(_file(content, folder))


def _challenge(content: bytes, _: Path) -> object:
    line = content.decode("latin-1")
    headers = {"Retry-After": line, "Date": "Sat, 07 Jun 2025 09:04:06 GMT"}
    return chosen([line]), retry_after(headers), decimal(line, 60), scheme_of(line)


def _workers(content: bytes, _: Path) -> object:
    worker = decode_worker(_text(content), "worker.json")
    report = judge(gather((worker,)), subject="facts", environment="", require=True, seconds=worker.seconds)
    return [form(report) for form in FORMATS.values()]


def _token(content: bytes, _: Path) -> object:
    from envbuilder.oci.registry.auth import _life  # noqa: PLC0415  the parser of a token is not public

    return _life(parsed(content))


def _facts(content: bytes, _: Path) -> object:
    facts = decode(content, "facts.json")
    host_environment = decode_host_environment(content, "facts.json")
    return facts, host_environment


def _doctor(content: bytes, _: Path) -> object:
    looked = read_facts_file(content, "facts.json")
    closures = ClosureFolder(folder=_MATRICES / "locks").read
    examination = examine_machine(_catalog(), looked.facts, looked.host_environment, Inventory(), closures)
    return "\n".join(doctor_text(looked, examination, 100))


def _check(content: bytes, _: Path) -> object:
    facts = decode(content, "facts.json")
    lock = load(_text(seeds.files("tests/data/good.lock")[0]), "good.lock")
    report = validate_facts(
        _catalog(), lock, facts, tier=None, required=None, subject="facts.json", seconds=facts.seconds
    )
    return [form(report) for form in FORMATS.values()]


def _compare(content: bytes, _: Path) -> object:
    known = decode(seeds.files("tests/cases/facts/*.json")[0], "known.json")
    return compare(_catalog(), system_of("a", known), system_of("b", decode(content, "facts.json")))


def _fleet(content: bytes, folder: Path) -> object:
    images = [
        image_of_environment(row) for row in _catalog().environments if row.id in {"tf-2.15-cuda12.2", "tf-1.4-cpu"}
    ]
    nodes = folder / "nodes"
    nodes.mkdir()
    (nodes / "n1.json").write_bytes(seeds.files("tests/cases/facts/*.json")[0])
    (nodes / "n2.json").write_bytes(content)
    (nodes / "n2.run").write_text("0 1 2", encoding="utf-8")
    report = check_fleet(_catalog(), images, open_collection(nodes), open_collection(nodes))
    return [form(report) for form in FLEET_FORMATS.values()]


def _node_list(content: bytes, folder: Path) -> object:
    (folder / "nodes.txt").write_bytes(content)
    return open_collection(folder).nodes, expand_names(fold_names(open_collection(folder).nodes))


def _osv(content: bytes, folder: Path) -> object:
    lock = load(_text(seeds.files("tests/data/good.lock")[0]), "good.lock")
    honest = _file(seeds.OSV[0], folder, "honest.json")
    databases = (Database(name=path.name, path=path) for path in (honest, _file(content, folder, "input.json")))
    return scan_vulnerabilities(lock, _catalog(), databases)


@cache
def _catalog() -> Catalog:
    return load_catalog(_MATRICES)


@cache
def _failures() -> Failures:
    return load_failures(_MATRICES)


def _trace(content: bytes, _: Path) -> object:
    # Half of the time the message inside, so that mutations reach behind base64.
    aux = content.decode("latin-1") if content[:1].isalnum() else base64.b64encode(content).decode()
    return list(TraceReader().feed(aux))


def _stream(content: bytes, _: Path) -> object:
    reader = ClassicReader(lambda: 0.0)
    for line in content.splitlines():
        with suppress(ValueError, RecursionError):
            record = json.loads(line)
            if isinstance(record, dict):
                list(reader.feed(record))
    return list(reader.finish())


def _gpu_code(content: bytes, _: Path) -> object:
    section = DataSection(name=".nv_fatbin", start=0, end=len(content))
    return read_gpu_code(io.BytesIO(content), [section])


def _elf(content: bytes, _: Path) -> object:
    return read_shared_object(open_elf(io.BytesIO(content)))


def _pylock(content: bytes, _: Path) -> object:
    return list(_files(read_pylock(_text(content))))


def _uv(content: bytes, _: Path) -> object:
    failure = failure_of(2, _text(content), "/tmp")
    if failure is not None:
        raise failure
    return None


def _docker_config(content: bytes, folder: Path) -> object:
    file = _file(content, folder, "config.json")
    with suppress(EnvbuilderError):
        endpoint({"DOCKER_CONFIG": str(folder), "HOME": str(folder)})
    return RegistryLogins(files=(file,), environ={"PATH": "/nonexistent"}).of("registry.example")


def _netrc(content: bytes, folder: Path) -> object:
    return netrc_logins({"NETRC": str(_file(content, folder))}, folder)


def _logs() -> tuple[bytes, ...]:
    found = (yaml.safe_load(content) for content in seeds.files("tests/cases/logs/*.yaml", limit=6))
    return tuple(json.dumps(each).encode() for each in found)


PARSERS: Mapping[str, Parser] = {
    "release": Parser(run=lambda data, _: parse_release(_text(data), "bookworm"), seeds=lambda: (seeds.RELEASE,)),
    "packages": Parser(run=_packages, seeds=lambda: (seeds.CONTROL, seeds.CONTROL + b"\n" + seeds.CONTROL)),
    "deb": Parser(run=_deb, seeds=seeds.debs),
    "archive": Parser(run=_extract, seeds=lambda: (*seeds.layers(), *seeds.zips())),
    "tar": Parser(run=lambda data, folder: of_tar(_file(data, folder)), seeds=seeds.tars),
    "vendor-archive": Parser(run=_vendor_archive, seeds=seeds.vendor_archives),
    "wheel": Parser(run=_wheel, seeds=lambda: (seeds.wheel(),)),
    "record": Parser(run=lambda data, folder: _wheel(seeds.wheel(record=data), folder), seeds=lambda: (seeds.RECORD,)),
    "entry-points": Parser(
        run=lambda data, folder: _wheel(seeds.wheel(entries=data), folder), seeds=lambda: (seeds.ENTRY_POINTS,)
    ),
    "metadata": Parser(
        run=lambda data, _: read_metadata(_text(data), _text(data)), seeds=lambda: (seeds.METADATA,), refuses=(Damaged,)
    ),
    "layer": Parser(run=_layer, seeds=seeds.layers),
    "layout": Parser(run=_layout, seeds=seeds.layouts),
    "configuration": Parser(run=_settings, seeds=seeds.configurations),
    "accounts": Parser(run=_passwd, seeds=lambda: seeds.PASSWD),
    "manifest": Parser(run=_manifest, seeds=seeds.manifests, refuses=(ValueError,)),
    "signature": Parser(run=_signature, seeds=seeds.signatures),
    "challenge": Parser(run=_challenge, seeds=lambda: seeds.CHALLENGES),
    "token": Parser(run=_token, seeds=lambda: seeds.TOKENS),
    "catalog-reference": Parser(
        run=lambda data, _: catalog_reference(_text(data)),
        seeds=lambda: seeds.CATALOG_REFERENCES,
        refuses=(ValueError,),
    ),
    "reference": Parser(
        run=lambda data, _: ImageRef.parse(_text(data)),
        seeds=lambda: (b"localhost:5000/team/tf:1", b"a/b@sha256:" + b"a" * 64),
        refuses=(ValueError,),
    ),
    "docker-config": Parser(run=_docker_config, seeds=lambda: seeds.DOCKER_CONFIG),
    "netrc": Parser(run=_netrc, seeds=lambda: seeds.NETRC),
    "fleet": Parser(run=_fleet, seeds=lambda: seeds.files("tests/cases/facts/*.json")),
    "node-list": Parser(run=_node_list, seeds=lambda: (b"n1\n# two\nn2\n", b"gpu-001.example.org\n")),
    "facts": Parser(run=_facts, seeds=lambda: seeds.files("tests/cases/facts/*.json")),
    "workers": Parser(run=_workers, seeds=lambda: seeds.files("tests/data/multi_node/*/worker-0.json")),
    "doctor": Parser(run=_doctor, seeds=lambda: seeds.files("tests/cases/facts/*.json", limit=2)),
    "check": Parser(run=_check, seeds=lambda: seeds.files("tests/cases/facts/*.json")),
    "compare": Parser(run=_compare, seeds=lambda: seeds.files("tests/cases/facts/*.json")),
    "log": Parser(run=lambda data, _: scan(_failures(), io.BytesIO(data).read), seeds=_logs),
    "lock": Parser(run=lambda data, _: load(_text(data), "x.lock"), seeds=lambda: seeds.files("tests/data/good.lock")),
    "spec": Parser(
        run=lambda data, _: read_spec(_text(data), "envbuilder.yaml"),
        seeds=lambda: seeds.files("tests/data/spec/*.yaml"),
    ),
    "prioritized-files": Parser(
        run=lambda data, _: load_prioritized(_text(data), "reads.yaml"),
        seeds=lambda: (dump_prioritized((("base", ("/usr/lib/a b.so",)), ("own", ("/opt/x", "/opt/y")))).encode(),),
    ),
    "yaml": Parser(
        run=lambda data, _: parse(_text(data), "x.yaml"), seeds=lambda: seeds.files("tests/data/spec/*.yaml")
    ),
    "trace": Parser(
        run=_trace,
        seeds=lambda: (*seeds.TRACES, *(base64.b64decode(each) for each in seeds.TRACES)),
        refuses=(MalformedMessage,),
    ),
    "stream": Parser(run=_stream, seeds=lambda: (seeds.STREAM,)),
    "elf": Parser(
        run=_elf,
        seeds=lambda: (seeds.shared_library(("libc.so.6", "libm.so.6")),),
        refuses=(Damaged,),
    ),
    "elf-segments": Parser(
        run=lambda data, _: read_dynamic_names(io.BytesIO(data)),
        seeds=lambda: (seeds.shared_library(("libc.so.6", "libm.so.6")),),
        refuses=(OSError, ValueError, OverflowError),
    ),
    "gpu-code": Parser(run=_gpu_code, seeds=lambda: seeds.FATBIN, refuses=(Damaged,)),
    "ptx": Parser(run=lambda data, _: read_ptx_header(data), seeds=lambda: seeds.PTX, refuses=(Damaged,)),
    "lz4": Parser(run=lambda data, _: unpack_start(data, 4096), seeds=lambda: seeds.LZ4, refuses=(Damaged,)),
    "build-info": Parser(
        run=lambda data, _: read_build_info(_text(data)), seeds=lambda: seeds.BUILD_INFO, refuses=(Damaged,)
    ),
    "osv": Parser(run=_osv, seeds=lambda: seeds.OSV),
    "pylock": Parser(run=_pylock, seeds=lambda: (seeds.PYLOCK,)),
    "uv-output": Parser(run=_uv, seeds=lambda: seeds.UV_OUTPUT),
}
