"""What TensorFlow is told by the memory hook, in the shapes of old and new releases."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.memory_policy import parse
from tests.interpreters.tensorflows import libcuda, run, write

GIB = 1 << 30
MODULE = import_module("envbuilder.incontainer.memory_hook")
TOLD = """
import tensorflow
from tensorflow.python.client import session
from tensorflow.core.protobuf import config_pb2
print(json.dumps(session.told(session.Session(config={config})._config)))
"""
NOTHING = {"growth": False, "fraction": 0.0, "limits": []}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    libcuda(tmp_path, (8 * GIB, 16 * GIB))
    return tmp_path


def told(site: Path, version: str, policy: str, config: str = "None", **env: str) -> object:
    write(site, version)
    seen, wrote = run(site, TOLD.format(config=config), ENVBUILDER_MEMORY=policy, **env)
    assert seen is not None, wrote
    return seen


@pytest.mark.parametrize("version", ["1.4.1", "1.13.2", "1.15.5", "2.0.4", "2.20.0"])
@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("growth", {"growth": True}),
        ("fraction:0.8", {"fraction": 0.8}),
        ("growth,growth", {"growth": True}),
    ],
)
def test_growth_and_fraction_reach_every_release(
    site: Path, version: str, policy: str, expected: dict[str, object]
) -> None:
    assert told(site, version, policy) == NOTHING | expected


@pytest.mark.parametrize("version", ["1.13.2", "1.15.5", "2.20.0"])
def test_a_limit_is_megabytes_for_each_gpu(site: Path, version: str) -> None:
    assert told(site, version, "limit:4GiB") == NOTHING | {"limits": [[4096], [4096]]}
    assert told(site, version, "limit:5GB,fraction:0.25") == NOTHING | {"limits": [[4768], [4096]]}
    assert told(site, version, "limit:4GiB,growth") == {"growth": True, "fraction": 0.0, "limits": [[4096], []]}


def test_a_release_without_limits_gets_the_share_that_keeps_every_gpu_below(site: Path) -> None:
    assert told(site, "1.4.1", "limit:4GiB") == NOTHING | {"fraction": 0.25}
    assert told(site, "1.4.1", "limit:2GiB,limit:4GiB") == NOTHING | {"fraction": 0.25}


def test_device_count_that_leaves_out_gpus_gets_a_share(site: Path) -> None:
    config = "config_pb2.ConfigProto({'GPU': 1})"
    assert told(site, "2.20.0", "limit:4GiB", config) == NOTHING | {"fraction": 0.25}
    assert told(site, "2.20.0", "limit:4GiB", "config_pb2.ConfigProto({'GPU': 0})") == NOTHING


def test_a_list_follows_the_visible_gpus(site: Path) -> None:
    config = 'config_pb2.ConfigProto(visible_device_list="1")'
    assert told(site, "2.20.0", "limit:1GiB,limit:2GiB", config) == NOTHING | {"limits": [[2048]]}


def test_what_the_program_says_stays(site: Path) -> None:
    config = "config_pb2.ConfigProto(per_process_gpu_memory_fraction=0.3)"
    for version in ("1.4.1", "2.20.0"):
        assert told(site, version, "limit:4GiB", config) == NOTHING | {"fraction": 0.3}
        assert told(site, version, "growth", config) == {"growth": True, "fraction": 0.3, "limits": []}
    config = "config_pb2.ConfigProto(allow_growth=True)"
    assert told(site, "2.20.0", "limit:4GiB", config) == {"growth": True, "fraction": 0.0, "limits": [[4096], [4096]]}


def test_own_memory_growth_wins_over_the_policy_and_its_variable(site: Path) -> None:
    write(site, "2.20.0")
    code = (
        "import tensorflow\nfrom tensorflow.python.eager import context\n"
        "from tensorflow.python.client import session\n"
        "context.context()._memory_growth_map = {0: False, 1: False}\n"
        "seen = session.told(context.context().config)\n"
        'print(json.dumps([seen["growth"], os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH")]))'
    )
    assert run(site, code, ENVBUILDER_MEMORY="growth")[0] == [False, None]
    forced = run(site, code, ENVBUILDER_MEMORY="growth", TF_FORCE_GPU_ALLOW_GROWTH="true")
    assert forced[0] == [False, "true"], "the user's own variable is not ours to remove"


VARIABLES = """
import tensorflow
print(json.dumps([os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH"), os.environ.get("TF_GPU_ALLOCATOR")]))
"""


@pytest.mark.parametrize(
    ("policy", "own", "expected"),
    [
        ("growth", {}, ["true", None]),
        ("growth", {"TF_FORCE_GPU_ALLOW_GROWTH": "false"}, ["false", None]),
        ("async-allocator", {}, [None, "cuda_malloc_async"]),
        ("async-allocator", {"TF_GPU_ALLOCATOR": "cuda_malloc"}, [None, "cuda_malloc"]),
        ("limit:4GiB", {}, [None, None]),
        ("all", {}, [None, None]),
    ],
)
def test_tensorflows_own_variables_are_set_unless_somebody_did(
    site: Path, policy: str, own: dict[str, str], expected: list[str | None]
) -> None:
    write(site, "2.20.0")
    assert run(site, VARIABLES, ENVBUILDER_MEMORY=policy, **own)[0] == expected


@pytest.mark.parametrize(
    ("version", "policy", "why"),
    [
        ("2.5.3", "async-allocator", "2.6 and later"),
        ("2.20.0", "fraction:1.5", "none of all"),
        ("2.20.0", "limit:64MiB", "at least 256MiB"),
        ("2.20.0", "half", "none of all"),
        ("2.20.0", "growth,async-allocator", "stand alone"),
        ("2.20.0", "limit:32GiB", "GPU 0 has only 8192 MiB"),
        ("1.4.1", "limit:4GiB,growth", "one setting for all GPUs"),
    ],
)
def test_what_cannot_be_applied_is_an_error_that_names_the_way_out(
    site: Path, version: str, policy: str, why: str
) -> None:
    write(site, version)
    seen, wrote = run(site, TOLD.format(config="None"), ENVBUILDER_MEMORY=policy)
    assert seen is None
    assert "RuntimeError" in wrote
    assert policy in wrote
    assert why in wrote
    assert "ENVBUILDER_MEMORY=all" in wrote


def test_more_gpus_than_the_list_names_is_an_error(site: Path) -> None:
    write(site, "2.20.0", gpus=3)
    seen, wrote = run(site, TOLD.format(config="None"), ENVBUILDER_MEMORY="limit:1GiB,limit:2GiB")
    assert seen is None
    assert "it names 2 GPUs, and this process uses GPU 2" in wrote


@pytest.mark.parametrize("version", ["1.4.1", "1.13.2", "2.20.0"])
@pytest.mark.parametrize("policy", ["growth", "limit:4GiB", "limit:4GiB,fraction:0.5"])
def test_nothing_breaks_where_there_is_no_gpu(tmp_path: Path, version: str, policy: str) -> None:
    libcuda(tmp_path, ())
    write(tmp_path, version, gpus=0)
    seen, wrote = run(tmp_path, TOLD.format(config="None"), ENVBUILDER_MEMORY=policy)
    assert seen == NOTHING | {"growth": policy == "growth"}, wrote


def test_nothing_is_asked_of_the_driver_at_import(site: Path) -> None:
    (site / "libcuda.so.1").write_text("opening this fails, and asking it would too", encoding="utf-8")
    write(site, "2.20.0")
    code = "import ctypes\nctypes.CDLL = None\nimport tensorflow\n"
    code += 'print(json.dumps(sys.modules["envbuilder_memory"].PATCHED))'
    seen, wrote = run(site, code, ENVBUILDER_MEMORY="limit:4GiB")
    assert isinstance(seen, list), wrote
    assert seen[-1] == "tensorflow"


@pytest.mark.parametrize(("policy", "waiting"), [("all", 0), ("", 0), ("growth", 1), ("half", 1)])
def test_only_another_policy_than_tensorflows_waits_for_its_import(site: Path, policy: str, waiting: int) -> None:
    write(site, "2.20.0")
    code = 'site.addsitedir(sys.argv[0].rpartition("/")[0])\nfor name in ("json", "csv"): __import__(name)\n'
    code += (
        'print(json.dumps([sum(hasattr(each, "is_memory_hook") for each in sys.meta_path), "ctypes" in sys.modules]))'
    )
    assert run(site, code, ENVBUILDER_MEMORY=policy)[0] == [waiting, False]


def test_servers_devices_and_old_eager_contexts_get_it_too(site: Path) -> None:
    write(site, "1.13.2")
    code = (
        "import tensorflow\nfrom tensorflow.python.client import session, device_lib\n"
        "from tensorflow.python.training import server_lib\nfrom tensorflow.python.eager import context\n"
        "made = [server_lib.Server(None).config, device_lib.list_local_devices(),"
        " context.Context()._initialize_handle_and_devices()]\n"
        "print(json.dumps([session.told(each)['limits'] for each in made]))"
    )
    seen, wrote = run(site, code, ENVBUILDER_MEMORY="limit:1GiB")
    assert seen == [[[1024], [1024]]] * 3, wrote


PARTS = st.sampled_from(["all", "growth", "fraction:0.8", "fraction:1", "fraction:1.1", "fraction:0", "limit:4GiB"])
MORE = st.sampled_from(["limit:300MB", "limit:255MiB", "limit:1.5GiB", "limit:5GB", "async-allocator", "", " growth"])


@given(st.lists(PARTS | MORE | st.text(max_size=6), min_size=1, max_size=3).map(",".join))
def test_hook_and_builder_read_the_same_policies(text: str) -> None:
    try:
        expected = [(gpu.way.value, float(gpu.share) or gpu.limit or None) for gpu in parse(text).gpus]
    except ValueError:
        with pytest.raises(RuntimeError):
            MODULE.parsed(text)
        return
    assert MODULE.parsed(text) == expected
    assert MODULE.parsed(str(parse(text))) == expected


def test_the_hook_compiles_with_old_interpreters() -> None:
    vermin = Path(sys.executable).with_name("vermin")
    command = [str(vermin), "--no-tips", "-t=2.7-", "-t=3.5-", "--violations", str(MODULE.__file__)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
