"""uv is called for the interpreter of the image, and its answer becomes one file per distribution."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from datetime import date
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from envbuilder.core.errors import ResolutionFailed, SourceUnreachable
from envbuilder.core.uv import Uv
from envbuilder.core.versions import Release
from envbuilder.lock.closures import Chosen
from envbuilder.lock.resolve.resolver import Resolution
from envbuilder.lock.resolve.uv_resolver import UvResolver, write_stand_in
from tests.fakes.uv import Call, fake_uv

WANTED = Resolution(
    python=Release("3.8"),
    glibc=Release("2.31"),
    requirements=("tensorflow-gpu==2.4.4",),
    constraints=("protobuf<3.21",),
    cutoff=date(2023, 6, 1),
)

# As uv 0.13 writes it; addresses and hashes are made up.
PYLOCK = """\
lock-version = "1.0"
created-by = "uv"
requires-python = ">=3.8"

[[packages]]
name = "wrapt"
version = "1.12.1"
index = "https://index.example/simple"
sdist = { url = "https://files.example/wrapt-1.12.1.tar.gz", upload-time = 2020-03-09T00:00:00Z, size = 27488, \
hashes = { sha256 = "aa" } }

[[packages]]
name = "numpy"
version = "1.19.5"
index = "https://index.example/simple"
sdist = { url = "https://files.example/numpy-1.19.5.zip", size = 1, hashes = { sha256 = "bb" } }
wheels = [
    { url = "https://files.example/numpy-1.19.5-cp38-cp38-manylinux1_x86_64.whl", hashes = { sha256 = "01" } },
    { url = "https://files.example/numpy-1.19.5-cp38-cp38-manylinux2010_x86_64.whl#x", hashes = { sha256 = "02" } },
    { url = "https://files.example/numpy-1.19.5-cp39-cp39-manylinux2014_x86_64.whl", hashes = { sha256 = "03" } },
    { url = "https://files.example/numpy-1.19.5-cp38-cp38-manylinux_2_35_x86_64.whl", hashes = { sha256 = "04" } },
]

[[packages]]
name = "torch"
version = "2.1.0+cpu"
wheels = [{ url = "https://files.example/torch-2.1.0%2Bcpu-cp38-cp38-linux_x86_64.whl", hashes = { sha256 = "05" } }]

[[packages]]
name = "Keras_Preprocessing"
version = "1.1.2"
wheels = [{ name = "Keras_Preprocessing-1.1.2-py2.py3-none-any.whl", url = "https://files.example/blob/9", \
hashes = { sha256 = "06" } }]
"""


def resolve(
    folder: Path, wanted: Resolution, *, pylock: str = PYLOCK, index: str = ""
) -> tuple[tuple[Chosen, ...], Call]:
    uv = fake_uv(folder, pylock=pylock)
    environ = {"HTTPS_PROXY": "http://proxy.example", "PATH": "/usr/bin:/bin"}
    resolver = UvResolver(
        uv=Uv(program=uv.path, cache=folder / "cache", environ=environ, index=index), guard=lambda: None
    )
    return resolver.resolve(wanted), uv.call


def asked(folder: Path, wanted: Resolution, *, index: str = "") -> Call:
    return resolve(folder, wanted, pylock='lock-version = "1.0"\n', index=index)[1]


def fails(folder: Path, stderr: str) -> UvResolver:
    uv = fake_uv(folder, status=1, stderr=stderr)
    return UvResolver(uv=Uv(program=uv.path, cache=folder, environ={}), guard=lambda: None)


def test_one_fitting_file_is_taken_of_each_distribution(tmp_path: Path) -> None:
    chosen, _ = resolve(tmp_path, replace(WANTED, source_builds=("wrapt",)))
    assert chosen == (
        Chosen(
            name="keras-preprocessing",
            version="1.1.2",
            file="Keras_Preprocessing-1.1.2-py2.py3-none-any.whl",
            sha256="06",
        ),
        Chosen(name="numpy", version="1.19.5", file="numpy-1.19.5-cp38-cp38-manylinux2010_x86_64.whl", sha256="02"),
        Chosen(name="torch", version="2.1.0+cpu", file="torch-2.1.0+cpu-cp38-cp38-linux_x86_64.whl", sha256="05"),
        Chosen(name="wrapt", version="1.12.1", file="wrapt-1.12.1.tar.gz", sha256="aa"),
    )


def test_a_newer_c_library_takes_the_newer_wheel(tmp_path: Path) -> None:
    chosen, _ = resolve(tmp_path, replace(WANTED, glibc=Release("2.36"), source_builds=("wrapt",)))
    assert next(each.sha256 for each in chosen if each.name == "numpy") == "04"


def test_a_source_distribution_is_taken_only_when_it_is_listed(tmp_path: Path) -> None:
    with pytest.raises(
        ResolutionFailed, match=r"wrapt 1\.12\.1 has no wheel for Python 3\.8 and glibc 2\.31"
    ) as caught:
        resolve(tmp_path, WANTED)
    assert "list wrapt under `source_builds:`" in caught.value.hint


def test_a_source_distribution_that_is_listed_is_not_preferred_to_a_wheel_that_fits(tmp_path: Path) -> None:
    chosen, _ = resolve(tmp_path, replace(WANTED, source_builds=("numpy", "wrapt")))
    assert next(each.file for each in chosen if each.name == "numpy").endswith(".whl")


def test_nothing_to_install_is_no_distribution(tmp_path: Path) -> None:
    assert resolve(tmp_path, WANTED, pylock='lock-version = "1.0"\n')[0] == ()


def test_uv_resolves_for_the_image_and_not_for_this_machine(tmp_path: Path) -> None:
    call = asked(tmp_path, WANTED)
    assert call.arguments[:2] == ("pip", "compile")
    assert call.option("--python-version") == ["3.8"]
    assert call.option("--python-platform") == ["x86_64-manylinux_2_31"]
    assert call.option("--only-binary") == [":all:"]
    assert call.option("--no-binary") == []
    assert call.files["requirements.in"] == "tensorflow-gpu==2.4.4\n"
    assert call.files["constraints.txt"] == "protobuf<3.21\n"
    assert call.files["overrides.txt"] == ""


@pytest.mark.parametrize(
    ("glibc", "minor"),
    [("2.12", 17), ("2.17", 17), ("2.23", 17), ("2.27", 17), ("2.28", 28), ("2.36", 36), ("2.99", 40)],
)
def test_the_platform_is_the_newest_that_uv_knows_and_the_image_has(tmp_path: Path, glibc: str, minor: int) -> None:
    call = asked(tmp_path, replace(WANTED, glibc=Release(glibc)))
    assert call.option("--python-platform") == [f"x86_64-manylinux_2_{minor}"]


def test_files_after_the_cutoff_day_in_utc_do_not_exist(tmp_path: Path) -> None:
    call = asked(tmp_path, WANTED)
    assert call.option("--exclude-newer") == ["2023-06-02T00:00:00Z"]
    assert call.option("--exclude-newer-package") == []


def test_build_tools_of_source_distributions_have_a_day_of_their_own(tmp_path: Path) -> None:
    call = asked(tmp_path, replace(WANTED, source_builds=("termcolor", "wrapt")))
    assert call.option("--no-binary") == ["termcolor", "wrapt"]
    assert call.option("--exclude-newer-package") == [
        "setuptools=2025-01-02T00:00:00Z",
        "wheel=2025-01-02T00:00:00Z",
    ]


def test_a_young_row_needs_no_other_day_for_build_tools(tmp_path: Path) -> None:
    call = asked(tmp_path, replace(WANTED, source_builds=("wrapt",), cutoff=date(2026, 6, 1)))
    assert call.option("--exclude-newer-package") == []


def test_what_is_provided_otherwise_is_overridden_away(tmp_path: Path) -> None:
    call = asked(tmp_path, replace(WANTED, leave_out=("nvidia-cublas-cu11",)))
    assert call.files["overrides.txt"] == "nvidia-cublas-cu11 ; python_version < '0'\n"


def test_a_provided_distribution_is_an_empty_wheel_for_uv_and_is_not_chosen(tmp_path: Path) -> None:
    answer = """lock-version = "1.0"
[[packages]]
name = "tensorflow"
version = "2.4.4"
archive = { path = "/tmp/tensorflow-2.4.4-py3-none-any.whl", hashes = { sha256 = "aa" } }
"""
    chosen, call = resolve(tmp_path, replace(WANTED, provided=("tensorflow==2.4.4",)), pylock=answer)
    assert chosen == ()
    bound = (call.files["constraints.txt"] or "").splitlines()[1]
    assert bound.startswith("tensorflow @ file:///")
    assert bound.endswith("/tensorflow-2.4.4-py3-none-any.whl")


def test_a_stand_in_is_a_wheel_of_its_name_and_version_and_nothing_else(tmp_path: Path) -> None:
    wheel = write_stand_in(tmp_path, "tf-nightly-gpu", "2.4.4")
    assert parse_wheel_filename(wheel.name)[:2] == ("tf-nightly-gpu", Version("2.4.4"))
    with zipfile.ZipFile(wheel) as archive:
        folder = "tf_nightly_gpu-2.4.4.dist-info"
        assert set(archive.namelist()) == {f"{folder}/{name}" for name in ("METADATA", "WHEEL", "RECORD")}
        metadata = Parser().parsestr(archive.read(f"{folder}/METADATA").decode())
    assert (metadata["Name"], metadata["Version"], metadata["Requires-Dist"]) == ("tf-nightly-gpu", "2.4.4", None)


def test_preferences_lie_where_uv_looks_for_its_former_answer(tmp_path: Path) -> None:
    preferences = asked(tmp_path, replace(WANTED, preferred=("numpy==1.19.5",))).files["pylock.toml"]
    assert preferences is not None
    assert 'name = "numpy"\nversion = "1.19.5"' in preferences


def test_uv_has_the_hosts_environment_our_cache_and_downloads_no_interpreter(tmp_path: Path) -> None:
    call = asked(tmp_path, WANTED)
    assert call.environ["HTTPS_PROXY"] == "http://proxy.example"
    assert call.environ["UV_CACHE_DIR"] == str(tmp_path / "cache")
    assert call.environ["UV_PYTHON_DOWNLOADS"] == "never"
    assert "UV_DEFAULT_INDEX" not in call.environ


def test_a_named_index_is_used(tmp_path: Path) -> None:
    call = asked(tmp_path, WANTED, index="https://index.example/simple")
    assert call.environ["UV_DEFAULT_INDEX"] == "https://index.example/simple"


@pytest.mark.parametrize(
    "stderr",
    [
        "error: Failed to fetch: `https://index.example/simple/six/`\n  Caused by: error sending request for url\n",
        "  Caused by: client error (Connect)\n  Caused by: dns error: failed to lookup address information\n",
        "  Caused by: invalid peer certificate: UnknownIssuer\n",
        "error: Request failed after 3 retries\n",
        "  Caused by: operation timed out\n",
    ],
)
def test_an_index_that_does_not_answer_is_unreachable(tmp_path: Path, stderr: str) -> None:
    with pytest.raises(SourceUnreachable, match="package index does not answer") as caught:
        fails(tmp_path, stderr).resolve(WANTED)
    assert stderr.splitlines()[-1] in str(caught.value)
    assert "SSL_CERT_FILE" in caught.value.hint


@pytest.mark.parametrize(
    "stderr",
    [
        "  x No solution found when resolving dependencies:\n  ╰─▶ Because a depends on b<1 …, unsatisfiable.\n",
        "  x No solution found when resolving dependencies:\n  hint: Failed to fetch something else\n",
        "error: something else\n",
    ],
)
def test_packages_that_do_not_go_together_are_told_in_uvs_words(tmp_path: Path, stderr: str) -> None:
    with pytest.raises(ResolutionFailed, match=r"for Python 3\.8 as of 2023-06-01") as caught:
        fails(tmp_path, f"warning: noise\n{stderr}").resolve(WANTED)
    assert stderr.splitlines()[-1] in str(caught.value)
    assert "noise" not in str(caught.value)


def test_a_package_that_uv_cannot_read_is_not_called_a_conflict(tmp_path: Path) -> None:
    output = "error: Failed to download and build `a==1`\n  cause: Failed to extract archive: a==1\n"
    with pytest.raises(ResolutionFailed, match=r"cannot be resolved for Python 3\.8") as caught:
        fails(tmp_path, output).resolve(WANTED)
    assert "conflict" not in caught.value.message
    assert "leave it out" in caught.value.hint


# As uv 0.13 writes it, for tensorflow-text==2.16.1 beside a stand-in for tensorflow 2.15.1.
CONFLICT = """\
error: No solution found when resolving dependencies
  cause: Because only the following versions of tensorflow{sys_platform != 'darwin'} are available:
             tensorflow{sys_platform != 'darwin'}<2.16.1
         and tensorflow-text>=2.16.1 depends on tensorflow{sys_platform != 'darwin'}>=2.16.1,<2.17,
"""


def test_a_package_for_another_tensorflow_is_refused_with_both_releases(tmp_path: Path) -> None:
    wanted = replace(WANTED, provided=("tensorflow==2.15.1", "tf-nightly==2.15.1"))
    with pytest.raises(ResolutionFailed) as caught:
        fails(tmp_path, CONFLICT).resolve(wanted)
    assert "the environment has TensorFlow 2.15.1" in caught.value.message
    assert "tensorflow-text>=2.16.1 depends on tensorflow>=2.16.1,<2.17" in caught.value.message
    assert "`envbuilder list`" in caught.value.hint


def test_a_conflict_of_other_packages_says_nothing_of_tensorflow(tmp_path: Path) -> None:
    output = (
        "error: No solution found\n  Because tensorflow-text==2.15.0 depends on numpy<2 and you require numpy==2.0\n"
    )
    with pytest.raises(ResolutionFailed) as caught:
        fails(tmp_path, output).resolve(replace(WANTED, provided=("tensorflow==2.15.1",)))
    assert "2.15.1" not in caught.value.message


def test_a_file_of_the_index_whose_name_is_a_path_is_not_locked(tmp_path: Path) -> None:
    hostile = PYLOCK.replace("wrapt-1.12.1.tar.gz", "..%2Fwrapt-1.12.1.tar.gz")
    with pytest.raises(ResolutionFailed, match=r"wrapt 1\.12\.1 cannot be locked: '\.\./wrapt"):
        resolve(tmp_path, replace(WANTED, source_builds=("wrapt",)), pylock=hostile)
