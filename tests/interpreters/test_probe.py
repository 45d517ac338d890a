from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from envbuilder.core.versions import Release
from envbuilder.curation.stand_ins.imported_symbols import ImportedSymbol
from envbuilder.curation.stand_ins.library import compiled as compile_stand_in
from envbuilder.curation.stand_ins.library import stand_in
from envbuilder.diagnostics.checks.evaluation import run_checks
from envbuilder.diagnostics.checks.results import Tier
from envbuilder.diagnostics.checks.table import CHECKS, checks_for
from envbuilder.diagnostics.facts.facts import Seen, Unseen
from envbuilder.diagnostics.probe.decoding import decode
from tests.interpreters.interpreters import interpreters
from tests.interpreters.joined import probe_command, probe_file
from tests.unit.diagnostics.checks.expectations import TF_2_20

PROBE = probe_file()
PYTHONS = interpreters()
COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler to make libraries with")

TENSORFLOW = """
from __future__ import print_function
import os, sys
print("noise from Python")
os.write(1, b"noise from C\\n")
__version__ = "2.99.0"
class test(object):
    @staticmethod
    def is_built_with_cuda():
        {build}
class config(object):
    @staticmethod
    def list_physical_devices():
        return []
"""


def run(
    folder: Path,
    request: dict[str, object] | None = None,
    *,
    python: Path = Path(sys.executable),
    path: str = "",
    libraries: str = "",
) -> subprocess.CompletedProcess[bytes]:
    command = probe_command(python)
    if request is not None:
        asked = folder / "request.json"
        asked.write_text(json.dumps(request), "utf-8")
        command += ["--request", str(asked)]
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "LD_LIBRARY_PATH"}}
    environment = {**kept, "PYTHONPATH": path, "LD_LIBRARY_PATH": libraries}
    return subprocess.run(command, capture_output=True, check=False, timeout=120, env=environment)


def facts_of(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.count(b"\n") == 1, "exactly one document, on one line"
    assert b'"facts"' not in done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == 1
    decode(done.stdout, "probe")
    facts: dict[str, Any] = document["facts"]
    return facts


def fake_package(folder: Path, name: str, source: str) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(source, "utf-8")


@pytest.mark.parametrize("python", PYTHONS, ids=[path.parent.parent.name for path in PYTHONS])
def test_every_interpreter_gives_one_document_without_tensorflow(python: Path, tmp_path: Path) -> None:
    facts = facts_of(run(tmp_path, {"schema": 1, "sonames": ["libc.so.6", "libno.so.1"], "gpu": True}, python=python))
    told = subprocess.run(
        [str(python), "-c", "import sys; print(sys.version.split()[0])"], capture_output=True, check=True
    )

    assert facts["interpreter"]["value"]["version"] == told.stdout.decode().strip().rstrip("+")
    assert Release(facts["interpreter"]["value"]["glibc"]) >= Release("2.12")
    assert facts["libraries"]["value"]["libc.so.6"]["value"]["loaded"] is True
    assert "libc" in facts["libraries"]["value"]["libc.so.6"]["value"]["path"]
    assert "cannot open shared object" in facts["libraries"]["value"]["libno.so.1"]["value"]["error"]
    assert facts["machine"]["value"]["cpu"]["avx"] in {True, False, None}
    assert "No module named" in facts["tensorflow-import"]["error"]["message"]
    assert facts["tensorflow-gpu"]["error"]["message"] == "TensorFlow did not import"


@pytest.mark.parametrize("python", [PYTHONS[0], PYTHONS[-1]], ids=["oldest", "newest"])
def test_a_crash_of_the_import_is_a_fact_and_hides_nothing(python: Path, tmp_path: Path) -> None:
    fake_package(tmp_path, "tensorflow", "import os, signal\nos.kill(os.getpid(), signal.SIGILL)\n")
    facts = facts_of(run(tmp_path, python=python, path=str(tmp_path)))

    assert facts["tensorflow-import"]["error"]["type"] == "Signal"
    assert facts["tensorflow-import"]["error"]["message"] == "SIGILL"
    assert facts["tensorflow-devices"]["error"]["message"] == "the process had ended before: SIGILL"
    assert facts["interpreter"]["ok"]
    assert facts["driver"]["ok"]


def test_noise_on_standard_output_stays_out_of_the_document(tmp_path: Path) -> None:
    fake_package(tmp_path, "tensorflow", TENSORFLOW.format(build="return True"))
    fake_package(tmp_path, "numpy", "__version__ = '9.9'")
    done = run(tmp_path, {"schema": 1, "train": False}, path=str(tmp_path))
    facts = decode(done.stdout, "probe")

    assert isinstance(facts.imported, Seen)
    assert facts.imported.value.version == "2.99.0"
    assert facts_of(done)["tensorflow-import"]["value"]["numpy"] == "9.9"
    assert isinstance(facts.build, Seen)
    assert facts.build.value.cuda
    assert isinstance(facts.training, Unseen)
    assert facts.training.kind == "NotAsked"


def test_what_was_seen_before_a_crash_is_kept(tmp_path: Path) -> None:
    fake_package(tmp_path, "tensorflow", TENSORFLOW.format(build="os.abort()"))
    fake_package(tmp_path, "numpy", "__version__ = '9.9'")
    facts = facts_of(run(tmp_path, path=str(tmp_path)))

    assert facts["tensorflow-import"]["ok"]
    assert facts["tensorflow-build"]["error"]["message"] == "SIGABRT"
    assert any("is_built_with_cuda" in line for line in facts["tensorflow-build"]["error"]["trace"])
    assert facts["tensorflow-devices"]["value"] == [], "another process goes on behind the crash"


def test_a_hang_ends_after_the_limit_and_says_where_it_was(tmp_path: Path) -> None:
    fake_package(tmp_path, "tensorflow", "import time\ndef wait():\n    time.sleep(100)\nwait()\n")
    # The limit includes the start of an interpreter, which takes more than a second on a busy machine.
    facts = facts_of(run(tmp_path, {"schema": 1, "limit": 5}, path=str(tmp_path)))

    assert facts["tensorflow-import"]["error"]["type"] == "Timeout"
    assert any("in wait" in line for line in facts["tensorflow-import"]["error"]["trace"])
    assert facts["tensorflow-build"]["error"]["type"] == "NotReached"


def test_a_step_that_hangs_costs_its_budget_and_nothing_else(tmp_path: Path) -> None:
    fake_package(tmp_path, "tensorflow", TENSORFLOW.format(build="import time; time.sleep(100)"))
    fake_package(tmp_path, "numpy", "__version__ = '9.9'")
    facts = facts_of(run(tmp_path, {"schema": 1, "train": False, "budgets": {"build": 1}}, path=str(tmp_path)))

    assert facts["tensorflow-build"]["error"]["message"] == "no answer after 1 s"
    assert facts["tensorflow-devices"]["ok"]


def test_nothing_is_done_on_a_gpu_unless_it_is_asked_for(tmp_path: Path) -> None:
    fake_package(tmp_path, "tensorflow", TENSORFLOW.format(build="return False"))
    fake_package(tmp_path, "numpy", "__version__ = '9.9'")

    def steps(**asked: object) -> set[str]:
        facts = facts_of(run(tmp_path, {"schema": 1, "train": False, **asked}, path=str(tmp_path)))
        return {name for name in facts if name.startswith("tensorflow-gpu")}

    assert steps() == set()
    assert {"tensorflow-gpu-first", "tensorflow-gpu-memory", "tensorflow-gpu-memory-limit"} <= steps(gpu=True)


def test_every_name_of_the_joined_file_is_given_once() -> None:
    names = [
        name
        for node in ast.parse(PROBE.read_bytes()).body
        for name in (
            [node.name]
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            else [each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
            if isinstance(node, ast.Assign)
            else []
        )
    ]
    assert sorted(names) == sorted(set(names))
    assert "envbuilder.incontainer" not in PROBE.read_text(encoding="utf-8")


def test_files_of_a_crashed_child_do_not_stay(tmp_path: Path) -> None:
    note = tmp_path / "note"
    source = f"import os, tempfile\nopen({str(note)!r}, 'w').write(tempfile.mkstemp()[1])\nos.abort()\n"
    fake_package(tmp_path, "tensorflow", source)
    facts_of(run(tmp_path, path=str(tmp_path)))

    assert "envbuilder-" in note.read_text("utf-8")
    assert not Path(note.read_text("utf-8")).exists()


def test_a_failing_import_keeps_its_traceback(tmp_path: Path) -> None:
    fake_package(tmp_path, "tensorflow", "raise ImportError(u'l\\xf6\\udcff.so: cannot open')")
    facts = decode(run(tmp_path, path=str(tmp_path)).stdout, "probe")

    assert isinstance(facts.imported, Unseen)
    assert facts.imported.kind == "ImportError"
    assert any("tensorflow/__init__.py" in line for line in facts.imported.trace)


def test_nothing_beside_the_probe_shadows_the_environment(tmp_path: Path) -> None:
    script = tmp_path / "probe.py"
    script.write_bytes(PROBE.read_bytes())
    fake_package(tmp_path, "tensorflow", "raise RuntimeError('from the folder of the probe')")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, check=False, timeout=120)

    assert "No module named" in facts_of(done)["tensorflow-import"]["error"]["message"]


def test_distributions_are_found_whatever_the_length_of_their_metadata(tmp_path: Path) -> None:
    for name, version in (("Long_Name.x", "1.0"), ("short", "2.0")):
        folder = tmp_path / f"{name}-{version}.dist-info"
        folder.mkdir()
        body = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\n" + "Version: 9\n" * 3000
        (folder / "METADATA").write_text(body, "utf-8")
    installed = facts_of(run(tmp_path, path=str(tmp_path)))["distributions"]["value"]

    assert (installed["long-name-x"], installed["short"]) == ("1.0", "2.0")


@pytest.mark.parametrize("content", ["[]", '{"schema": 2}', "no json"])
def test_a_wrong_request_is_an_error_and_no_document(content: str, tmp_path: Path) -> None:
    asked = tmp_path / "request.json"
    asked.write_text(content, "utf-8")
    done = subprocess.run([sys.executable, str(PROBE), "--request", str(asked)], capture_output=True, check=False)

    assert done.returncode != 0
    assert done.stdout == b""


def test_the_syntax_is_that_of_the_oldest_interpreter() -> None:
    vermin = Path(sys.executable).with_name("vermin")
    done = subprocess.run(
        [str(vermin), "--no-tips", "-t=2.7", "-t=3.5-", "--violations", str(PROBE)], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout.decode()


def compiled(folder: Path, name: str, source: str) -> Path:
    assert COMPILER
    (folder / f"{name}.c").write_text(source, "utf-8")
    target = folder / name
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", str(target), str(target) + ".c"], check=True)
    return target


@needs_compiler
def test_libraries_tell_their_versions(tmp_path: Path) -> None:
    parts = "int {0}GetProperty(int which, int *v) {{ int all[] = {{11, 4, 2}}; *v = all[which]; return 0; }}"
    compiled(tmp_path, "libcudart.so.11.0", "int cudaRuntimeGetVersion(int *v) { *v = 11080; return 0; }")
    compiled(tmp_path, "libcudnn.so.8", "unsigned long cudnnGetVersion() { return 8906; }"
             "unsigned long cudnnGetCudartVersion() { return 11080; }")  # fmt: skip
    compiled(tmp_path, "libcudnn.so.9", "unsigned long cudnnGetVersion() { return 90300; }")
    compiled(tmp_path, "libnccl.so.2", "int ncclGetVersion(int *v) { *v = 22304; return 0; }")
    compiled(tmp_path, "libcublasLt.so.11", parts.format("cublasLt"))
    names = [path.name for path in tmp_path.glob("*.so.*") if path.suffix != ".c"]
    facts = facts_of(run(tmp_path, {"schema": 1, "sonames": names, "train": False}, libraries=str(tmp_path)))
    seen = {name: fact["value"] for name, fact in facts["libraries"]["value"].items()}

    assert {name: value["version"] for name, value in seen.items()} == {
        "libcudart.so.11.0": "11.8",
        "libcudnn.so.8": "8.9.6",
        "libcudnn.so.9": "9.3.0",
        "libnccl.so.2": "2.23.4",
        "libcublasLt.so.11": "11.4.2",
    }
    assert seen["libcudnn.so.8"]["cudart"] == "11.8"
    assert seen["libnccl.so.2"]["path"] == str(tmp_path / "libnccl.so.2")
    assert seen["libnccl.so.2"]["via"] == "LD_LIBRARY_PATH"


@needs_compiler
def test_a_library_that_crashes_does_not_hide_the_others(tmp_path: Path) -> None:
    compiled(tmp_path, "liba.so.1", "int a;")
    compiled(tmp_path, "libb.so.1", "#include <stdlib.h>\n__attribute__((constructor)) void f(void) { abort(); }")
    compiled(tmp_path, "libc1.so.1", "int c;")
    names = ["liba.so.1", "libb.so.1", "libc1.so.1"]
    facts = facts_of(run(tmp_path, {"schema": 1, "sonames": names}, libraries=str(tmp_path)))["libraries"]["value"]

    assert facts["liba.so.1"]["value"]["loaded"]
    assert facts["libb.so.1"]["error"]["message"] == "SIGABRT"
    assert facts["libc1.so.1"]["value"]["loaded"]


DRIVER = """
const char padding[{size}] = {{1}};
int cuInit(unsigned f) {{ return {init}; }}
int cuDriverGetVersion(int *v) {{ *v = 12040; return 0; }}
int cuGetErrorName(int code, const char **name) {{ *name = code ? "CUDA_ERROR_NO_DEVICE" : "CUDA_SUCCESS"; return 0; }}
int cuDeviceGetCount(int *n) {{ *n = 1; return 0; }}
int cuDeviceGet(int *d, int i) {{ *d = i; return 0; }}
int cuDeviceGetName(char *name, int size, int d) {{ name[0] = 'H'; name[1] = '1'; name[2] = 0; return 0; }}
int cuDeviceGetAttribute(int *v, int which, int d) {{ *v = which == 75 ? 9 : 0; return 0; }}
int cuDeviceTotalMem_v2(unsigned long *v, int d) {{ *v = 1ul << 37; return 0; }}
"""


@needs_compiler
def test_a_stand_in_is_recognized_and_its_answers_are_no_versions(tmp_path: Path) -> None:
    symbols = [ImportedSymbol(library="libcudnn", name="cudnnGetVersion", version="libcudnn.so.7")]
    path = os.environ["PATH"]
    (tmp_path / "libcudnn.so.7").write_bytes(compile_stand_in(stand_in("libcudnn.so.7", symbols), path))
    symbols = [ImportedSymbol(library="libcuda", name=name, version="") for name in ("cuInit", "cuDriverGetVersion")]
    (tmp_path / "libcuda.so.1").write_bytes(compile_stand_in(stand_in("libcuda.so.1", symbols), path))
    facts = facts_of(run(tmp_path, {"schema": 1, "sonames": ["libcudnn.so.7"]}, libraries=str(tmp_path)))
    cudnn = facts["libraries"]["value"]["libcudnn.so.7"]["value"]

    assert (cudnn["loaded"], cudnn["stand_in"], cudnn["version"]) == (True, True, None)
    assert facts["driver"]["value"]["interface"]["value"]["stand_in"] is True
    assert facts["loader"]["value"]["libcuda"][0]["stand_in"] is True


@needs_compiler
def test_a_library_linked_against_a_stand_in_is_none(tmp_path: Path) -> None:
    (tmp_path / "libcublas.so.9.0").write_bytes(compile_stand_in(stand_in("libcublas.so.9.0", []), os.environ["PATH"]))
    (tmp_path / "client.c").write_text("int client;", encoding="utf-8")
    subprocess.run(
        [COMPILER or "cc", "-shared", "-fPIC", "-Wl,--no-as-needed", "-o", "libcusolver.so.9.0", "client.c",
         "libcublas.so.9.0"],
        check=True, cwd=tmp_path,
    )  # fmt: skip
    facts = facts_of(run(tmp_path, {"schema": 1, "sonames": ["libcusolver.so.9.0"]}, libraries=str(tmp_path)))

    assert facts["libraries"]["value"]["libcusolver.so.9.0"]["value"]["stand_in"] is False


@needs_compiler
def test_a_driver_tells_its_gpus(tmp_path: Path) -> None:
    real = compiled(tmp_path, "libcuda.so.550.54.15", DRIVER.format(size=1 << 21, init=0))
    (tmp_path / "libcuda.so.1").symlink_to(real.name)
    facts = facts_of(run(tmp_path, libraries=str(tmp_path)))
    interface = facts["driver"]["value"]["interface"]["value"]

    assert (interface["cuda"], interface["stub"], facts["driver"]["value"]["library"]) == ("12.4", False, "550.54.15")
    assert interface["gpus"] == [{"index": 0, "error": "", "name": "H1", "capability": "9.0", "memory": 1 << 37}]
    assert facts["loader"]["value"]["libcuda"] == [
        {
            "source": "LD_LIBRARY_PATH",
            "path": str(tmp_path / "libcuda.so.1"),
            "real": str(real),
            "stub": False,
            "stand_in": False,
        }
    ]


@needs_compiler
@pytest.mark.parametrize(("size", "init", "stub"), [(1 << 21, 100, False), (1 << 21, 34, True), (16, 100, True)])
def test_a_driver_without_a_gpu_and_a_stub_are_told_apart(size: int, init: int, stub: bool, tmp_path: Path) -> None:
    compiled(tmp_path, "libcuda.so.1", DRIVER.format(size=size, init=init))
    interface = facts_of(run(tmp_path, libraries=str(tmp_path)))["driver"]["value"]["interface"]["value"]

    assert (interface["stub"], interface["gpus"], interface["init"]["code"]) == (stub, [], init)


@needs_compiler
@pytest.mark.parametrize(("rep", "ok"), [("1", True), ("0", True), ("(unsigned long) &where", False), ("0x35", False)])
def test_the_own_check_is_called_through_its_hidden_argument(rep: str, ok: bool, tmp_path: Path) -> None:
    fake_package(tmp_path, "tensorflow", "")
    source = (
        "static int where;"
        "void *_ZN3tsl8internal9DsoLoader22TryDlopenCUDALibrariesEv(unsigned long *result)"
        f"{{ where = 1; *result = {rep}; return result; }}"
    )
    compiled(tmp_path / "tensorflow", "libtensorflow_framework.so.2", source)
    own = facts_of(run(tmp_path, path=str(tmp_path)))["tensorflow-own-check"]["value"]

    assert (own["available"], own["ok"]) == (True, ok)


@needs_compiler
def test_a_library_in_the_runpath_of_tensorflow_is_found(tmp_path: Path) -> None:
    assert COMPILER
    fake_package(tmp_path, "tensorflow", "")
    (tmp_path / "nvidia").mkdir()
    compiled(tmp_path / "nvidia", "libfound.so.1", "int a;")
    (tmp_path / "own.c").write_text("int b;", "utf-8")
    target = tmp_path / "tensorflow" / "libtensorflow_framework.so.2"
    path = "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../nvidia"
    subprocess.run([COMPILER, "-shared", "-fPIC", path, "-o", str(target), str(tmp_path / "own.c")], check=True)
    facts = facts_of(run(tmp_path, {"schema": 1, "sonames": ["libfound.so.1"]}, path=str(tmp_path)))
    seen = facts["libraries"]["value"]["libfound.so.1"]["value"]

    assert (seen["loaded"], seen["via"]) == (True, "RUNPATH")


def test_a_bare_interpreter_passes_no_check_of_tensorflow(tmp_path: Path) -> None:
    facts = decode(run(tmp_path, {"schema": 1, "gpu": True}).stdout, "probe")
    report = run_checks(TF_2_20, facts, tier=Tier.GPU, required=Tier.GPU, subject="bare", seconds=0)
    failed = {result.id for result in report.failed}

    assert len(checks_for(Tier.GPU)) == len(CHECKS)
    assert {check.id for check in CHECKS if check.id.startswith(("tensorflow-", "gpu-", "training", "save"))} <= failed
