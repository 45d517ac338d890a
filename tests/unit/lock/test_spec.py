"""`envbuilder.yaml` is read in full, and the command line's sources take precedence."""

from __future__ import annotations

from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from envbuilder.core.errors import InvalidInput
from envbuilder.core.memory_policy import GROWTH
from envbuilder.core.versions import Release
from envbuilder.lock.container_settings import ContainerSettings, Healthcheck, User
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import OwnFile
from envbuilder.lock.spec import Spec, with_sources
from tests.fakes.catalogs import DATA
from tests.fakes.specs import read_spec


@given(st.text(alphabet='enviromtpacks:[]{}"-\n 10.', max_size=60) | st.text(max_size=40))
def test_any_text_gives_a_spec_or_our_error(text: str) -> None:
    with suppress(InvalidInput):
        read_spec(text, "file")


def test_every_field_is_read_and_lists_are_sorted() -> None:
    assert read_spec((DATA / "spec" / "full.yaml").read_text(encoding="utf-8"), "file") == Spec(
        name="vision",
        environment="tf-2.4-cuda11.0",
        packages=("Pillow>=9", "six==1.16.0"),
        apt=("curl=7.88.1-10", "git"),
        source_builds=("some-thing",),
        build_tools=("cmake=3.25.1-1", "g++"),
        build_requires=("Cython==0.29.36", "pybind11<3"),
        build_env=(("CFLAGS", "-O2 -DNAME='a b'"), ("WITH_GPU", "1")),
        cutoff=date(2023, 9, 1),
        tensorflow=Version("2.4.1"),
        python=Release("3.8"),
        base="debian-new",
        env=(("GREETING", 'it\'s "$HOME" \\'), ("ZED", "last")),
        settings=ContainerSettings(
            command=("--port", "8888"),
            entrypoint=("python", "-m", "vision"),
            ports=("6006/udp", "8888/tcp"),
            labels=(("org.opencontainers.image.source", "https://git.example/vision"), ("owner", "team")),
            workdir="/app/data",
            healthcheck=Healthcheck(
                command=("python", "-c", "import vision"), interval=90, timeout=5, start_period=120, retries=2
            ),
        ),
        files=(
            OwnFile(path="/app/conf", source="conf"),
            OwnFile(path="/workspace/train.py", source="src/train.py"),
        ),
        user=User(name="team", uid=1234, gid=1235),
        memory=GROWTH,
        profiles=("jupyter", "tensorboard"),
        require_driver=True,
        sources=Sources(
            registry_mirror="localhost:5000",
            mirror="localhost:5000/team/tf",
            debian_mirrors=("http://mirror.example/debian",),
            debian_allow_expired=True,
            index="https://index.example/simple",
            python_archives=("./cpython-3.8.18-x86_64-linux-gnu.tar.gz",),
        ),
    )


def test_the_environment_alone_gives_the_defaults() -> None:
    assert read_spec('environment: "tf-2.15-cpu"\n', "file") == Spec(environment="tf-2.15-cpu")


@pytest.mark.parametrize("name", ["PASSWORD", "db_passwd", "MY_TOKEN", "ApiKey", "API_KEY", "AWS_CREDENTIALS"])
def test_a_variable_that_looks_like_a_secret_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="looks like a secret"):
        read_spec(f'environment: "x"\nenv:\n  {name}: "v"\n', "file")


@pytest.mark.parametrize("name", ["TF_CPP_MIN_LOG_LEVEL", "KEYBOARD", "_", "PASS_THROUGH"])
def test_an_ordinary_variable_is_taken(name: str) -> None:
    assert read_spec(f'environment: "x"\nenv:\n  {name}: "v"\n', "file").env == ((name, "v"),)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("train.py", "is not an absolute path"),
        ("/app/../etc/passwd", "is not an absolute path"),
        ("/app/", "is not an absolute path"),
        ("//app", "is not an absolute path"),
        ("/", "is not an absolute path"),
        ("/app/a ", "has characters"),
        ("/usr/bin/python3", "is in a directory of the base"),
        ("/lib/x", "is in a directory of the base"),
        ("/.wh.etc", "removes a file of a lower layer"),
        ("/workspace/.wh..wh..opq", "removes a file of a lower layer"),
        (f"/workspace/{'x' * 256}", "longer than 255 bytes"),
        ("/etc/passwd", "contains the users of the image"),
        ("/opt/venv/bin/python", "is in a directory that envbuilder writes"),
        ("/opt/envbuilder", "is in a directory that envbuilder writes"),
    ],
)
def test_an_own_file_lies_where_nothing_else_does(path: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as caught:
        read_spec(f'environment: "x"\nfiles:\n  "/app/ok": "ok"\n  "{path}": "f"\n', "file")
    assert [fault.line for fault in caught.value.faults] == [4]


@pytest.mark.parametrize(
    "path", ["/app/a", "/workspace/a b", "/usr/local/bin/run", "/opt/venvs/a", "/etc/x.conf", "/ä"]
)
def test_other_folders_are_taken(path: str) -> None:
    [file] = read_spec(f'environment: "x"\nfiles:\n  "{path}": "f"\n', "file").files
    assert file.path == path


def test_the_command_line_replaces_addresses_and_its_archives_come_first() -> None:
    own = Sources(
        registry_mirror="a:1",
        mirror="a:1/x",
        debian_mirrors=("b",),
        debian_allow_expired=True,
        ubuntu_mirrors=("u",),
        index="c",
        python_archives=("own",),
    )
    named = Sources(
        registry_mirror="d:1",
        debian_keyring="k",
        ubuntu_mirrors=("v", "w"),
        python_archives=("named",),
    )
    assert with_sources(Spec(environment="x", sources=own), named).sources == Sources(
        registry_mirror="d:1",
        mirror="a:1/x",
        debian_mirrors=("b",),
        debian_keyring="k",
        debian_allow_expired=True,
        ubuntu_mirrors=("v", "w"),
        index="c",
        python_archives=("named", "own"),
    )


def test_a_publisher_of_the_command_line_replaces_that_of_the_spec() -> None:
    own = Sources(publishers=(("*", "/usb"), ("nvidia-developer", "/mirror")))
    named = Sources(publishers=(("nvidia-developer", "https://site.example/"),), accept_nvidia_eula=True)
    merged = with_sources(Spec(environment="x", sources=own), named).sources
    assert merged.publishers == (("*", "/usb"), ("nvidia-developer", "https://site.example/"))
    assert merged.accept_nvidia_eula


def test_publishers_and_the_accepted_license_are_sources() -> None:
    text = 'environment: "x"\naccept_nvidia_eula: true\nsources:\n  publishers:\n    "*": "/usb"\n    own: "https://a.b/"\n'
    found = read_spec(text, "file").sources
    assert (found.publishers, found.accept_nvidia_eula) == ((("*", "/usb"), ("own", "https://a.b/")), True)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('own: "ftp://a.b/"', "is not an http:// or https:// URL"),
        ('own: "https://me:secret@a.b/"', "must not have credentials"),
        ('"a b": "/usb"', "is not an id"),
    ],
)
def test_a_wrong_publisher_is_refused_with_its_name(line: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as caught:
        read_spec(f'environment: "x"\nsources:\n  publishers:\n    {line}\n', "file")
    assert caught.value.faults[0].field.startswith("sources.publishers")
    assert "secret" not in caught.value.message


def test_no_sources_on_the_command_line_change_nothing() -> None:
    spec = Spec(environment="x", sources=Sources(index="c", python_archives=("own",)))
    assert with_sources(spec, Sources()) == spec


def test_a_mirror_is_one_address_or_several_in_order() -> None:
    text = (
        'environment: "x"\nsources:\n  debian_mirror: ["a", "b"]\n  ubuntu_mirror: "c"\n  ubuntu_allow_expired: true\n'
    )
    assert read_spec(text, "file").sources == Sources(
        debian_mirrors=("a", "b"), ubuntu_mirrors=("c",), ubuntu_allow_expired=True
    )


def test_a_mirror_that_is_a_mapping_is_refused() -> None:
    with pytest.raises(InvalidInput, match="debian_mirror: must be an address, or a list of addresses"):
        read_spec('environment: "x"\nsources:\n  debian_mirror: {a: "b"}\n', "file")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"cache.example/layers"', ("cache.example/layers",)),
        ('["localhost:5000/a", "b.example/c/d"]', ("localhost:5000/a", "b.example/c/d")),
    ],
)
def test_layer_caches_are_one_repository_or_several(text: str, expected: tuple[str, ...]) -> None:
    spec = read_spec(f'environment: "tf-2.15-cpu"\nsources:\n  layer_cache: {text}\n', "file")
    assert spec.sources.layer_caches == expected
    assert with_sources(spec, Sources()).sources.layer_caches == expected
    assert with_sources(spec, Sources(layer_caches=("x.example/y",))).sources.layer_caches == ("x.example/y",)


@pytest.mark.parametrize(
    "place", ["layers", "cache.example", "cache.example/layers:1", "me:secret@cache.example/layers"]
)
def test_a_layer_cache_is_a_repository_and_a_password_is_not_repeated(place: str) -> None:
    with pytest.raises(InvalidInput, match=r"sources\.layer_cache: ") as caught:
        read_spec(f'environment: "tf-2.15-cpu"\nsources:\n  layer_cache: "{place}"\n', "file")
    assert "secret" not in str(caught.value)
