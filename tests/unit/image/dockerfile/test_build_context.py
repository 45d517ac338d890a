"""A plan becomes the same files every time."""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envbuilder.catalog.archives import ArchiveFormat
from envbuilder.image.dockerfile.build_context import ContextFile, Rendered, render, requirements
from envbuilder.image.plan.layers import plan
from envbuilder.lock.lock import Lock, OsPackagePin, OwnFile, PackageGroup, ToolPin
from envbuilder.lock.lockfile import dump
from tests.fakes.catalogs import TEMPLATES, good_lock
from tests.fakes.vendor_archives import pin_of, with_archives

LOCK = good_lock()
DIGEST = "sha256:" + "ab" * 32


def rendered(lock: Lock = LOCK) -> Rendered:
    return render(plan(lock, DIGEST), dump(lock), TEMPLATES)


def text_of(files: Rendered, path: str) -> str:
    return next(file.text for file in files.texts if file.path == path)


@given(st.permutations([("A", "1"), ("LANG", "C"), ("Z", "2"), ("TF_CPP_MIN_LOG_LEVEL", "1")]))
@settings(max_examples=6)
def test_the_order_in_which_variables_were_given_does_not_matter(env: list[tuple[str, str]]) -> None:
    made = render(plan(replace(LOCK, env=tuple(env)), DIGEST), "", TEMPLATES)
    assert made == render(plan(replace(LOCK, env=tuple(sorted(env))), DIGEST), "", TEMPLATES)


def test_the_same_plan_gives_the_same_bytes() -> None:
    assert rendered() == rendered()


def test_files_are_sorted_and_paths_are_unique_and_inside() -> None:
    paths = [file.path for file in rendered().texts] + [file.path for file in rendered().attachments]
    assert [file.path for file in rendered().texts] == sorted(file.path for file in rendered().texts)
    assert len(set(paths)) == len(paths)
    assert not [path for path in paths if path.startswith("/") or ".." in path]


def test_every_text_ends_with_one_line_end_and_has_no_blank_at_the_end_of_a_line() -> None:
    for file in rendered().texts:
        assert file.text.endswith("\n"), file.path
        assert not [line for line in file.text.splitlines() if line != line.rstrip()], file.path


def test_every_layer_with_packages_has_a_file_in_hash_checking_mode() -> None:
    own = text_of(rendered(), "layers/own.txt")
    assert own.splitlines()[1] == (
        "six==1.16.0 --hash=sha256:c181e133354ccceac7bf7db61f61d879348dbed744b2f612e519a842cbc05d1f"
    )
    for line in own.splitlines():
        assert len(shlex.split(line)) == 2


def test_os_packages_are_listed_by_hash_name_and_version() -> None:
    assert text_of(rendered(), "layers/system.txt").splitlines()[0].endswith(" curl=7.88.1-10")


def test_the_lock_is_part_of_the_folder() -> None:
    assert text_of(rendered(), "envbuilder.lock") == dump(LOCK)


def test_tools_are_executable_and_archives_are_not() -> None:
    uv, archive = sorted(rendered().attachments, key=lambda file: file.executable, reverse=True)
    assert uv == ContextFile(path="tools/uv", sha256=LOCK.tools[0].sha256, executable=True)
    assert archive == ContextFile(path=f"python/{LOCK.python.file}", sha256=LOCK.python.sha256)
    assert [file.path for file in rendered().texts if file.executable] == ["tools/with-host"]


def test_build_tools_are_listed_apart() -> None:
    tool = replace(LOCK.packages[0], name="setuptools", group=PackageGroup.BUILD)
    made = rendered(replace(LOCK, packages=(*LOCK.packages, tool)))
    assert text_of(made, "layers/build.txt") == requirements([tool])


def built(*, file: str = "pool/g/g.deb") -> Lock:
    tool = replace(LOCK.packages[0], name="cmake", file="cmake-1-py3-none-any.whl", group=PackageGroup.OWN_BUILD)
    compiler = OsPackagePin(name="g++", version="12", sha256="cd" * 32, file=file)
    pins = tuple(replace(pin, file="six-1.16.0.tar.gz") if pin.name == "six" else pin for pin in (*LOCK.packages, tool))
    os_packages = tuple(replace(pin, file=file and f"pool/{pin.name}.deb") for pin in LOCK.os_packages)
    return replace(LOCK, packages=pins, os_packages=os_packages, build_os_packages=(compiler,))


def stages(dockerfile: str) -> dict[str, str]:
    """The text of each stage by its name."""
    parts = re.split(r"^FROM (\S+) AS (\S+)\n", dockerfile, flags=re.MULTILINE)
    return {name: f"{base}\n{text}" for base, name, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)}


def test_own_packages_are_built_in_a_stage_of_which_only_they_reach_the_image() -> None:
    made = rendered(built())
    found = stages(text_of(made, "Dockerfile"))
    assert list(found)[-4:] == ["environment", "builder", "built", "image"]
    assert found["builder"].startswith("${BUILD_BASE}\n")
    assert found["built"].startswith("builder\n")
    assert found["image"].startswith("environment\n")
    assert "--no-build-isolation" in found["built"]
    assert "--no-build-isolation" not in found["image"]
    assert "from=built,source=/build-stage/own," in found["image"]
    six = next(pin for pin in built().packages if pin.name == "six")
    pillow = next(pin for pin in built().packages if pin.name == "pillow")
    assert text_of(made, "layers/built.own.txt") == requirements([six])
    assert text_of(made, "layers/own.txt") == requirements([pillow])
    assert "cmake==" in text_of(made, "layers/own-build.txt")


def test_variables_of_builds_are_set_for_the_steps_that_build_only() -> None:
    hostile = 'it\'s $(id) \\ "x"'
    lock = replace(built(), build_env=(("CFLAGS", hostile), ("WITH_GPU", "1")))
    made = rendered(lock)
    found = stages(text_of(made, "Dockerfile"))
    assert f"export CFLAGS={shlex.quote(hostile)}; \\\n    export WITH_GPU=1; \\\n" in found["built"]
    assert "WITH_GPU" not in "".join(text for name, text in found.items() if name != "built")
    classic = rendered(replace(lock, os_packages=(), build_os_packages=()))
    assert text_of(classic, "Dockerfile.classic").count("export WITH_GPU=1") == 1


def test_on_an_image_of_a_registry_apt_installs_the_compilers_in_the_stage_only() -> None:
    made = rendered(built(file=""))
    found = stages(text_of(made, "Dockerfile"))
    assert found["builder"].startswith("system\n")
    assert "source=layers/build-system.txt" in found["builder"]
    assert text_of(made, "layers/build-system.txt") == f"{'cd' * 32} g++=12\n"
    assert "Dockerfile.classic" not in [file.path for file in made.texts]


def test_without_a_build_stage_a_dockerfile_has_none() -> None:
    assert not {"environment", "builder", "built"} & set(stages(text_of(rendered(), "Dockerfile")))


HOSTILE = "x\" $(id) `id` ' \\ ${HOME} #"


def test_a_hostile_variable_stays_a_value() -> None:
    dockerfile = text_of(rendered(replace(LOCK, env=(("GREETING", HOSTILE),))), "Dockerfile")
    line = next(line for line in dockerfile.splitlines() if "GREETING=" in line)
    assert '\\" \\$(id)' in line


@pytest.mark.parametrize("change", [{"summary": "x\nRUN id"}, {"deviations": ("x\rRUN id",)}, {"env": (("A", "\n"),)}])
def test_a_value_that_could_become_an_instruction_is_refused(change: dict[str, object]) -> None:
    lock = replace(LOCK, **change)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a control character"):
        render(plan(lock, DIGEST), "", TEMPLATES)


@pytest.mark.parametrize(
    "lock",
    [
        replace(LOCK, python=replace(LOCK.python, file="../../x")),
        replace(LOCK, tools=(ToolPin(name="../../x", version="1", sha256="0" * 64),)),
        replace(LOCK, files=(OwnFile(path="/app/../../x", sha256="0" * 64),)),
    ],
    ids=["python", "tool", "file"],
)
def test_a_name_that_is_a_path_is_never_rendered(lock: Lock) -> None:
    with pytest.raises(ValueError, match=r"\.\./x"):
        rendered(lock)


def test_no_value_of_a_lock_can_be_a_directive_to_the_builder() -> None:
    hostile = replace(LOCK, environment="syntax=host/evil", summary="escape=`")
    for path in ("Dockerfile", "Dockerfile.classic"):
        files = rendered(replace(hostile, os_packages=()))
        first = text_of(files, path).splitlines()[0]
        assert first == "# Rendered by envbuilder from the lock beside this file; change the lock, not this."


PIN = pin_of(b"archive", ArchiveFormat.MAKESELF)


@pytest.mark.parametrize(("path", "target"), [("Dockerfile", ""), ("Dockerfile.classic", "/vendor")])
def test_libraries_of_an_archive_are_copied_as_they_are_and_linked(tmp_path: Path, path: str, target: str) -> None:
    dockerfile = text_of(rendered(replace(with_archives(LOCK, PIN), os_packages=())), path)
    [command] = re.findall(r"cp -R (?:[^\n]*\\\n)*[^\n]*", dockerfile)
    library = tmp_path / f"run/envbuilder/libraries/{PIN.id}/usr/lib/x86_64-linux-gnu/liby.so.9.0.1"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"library")
    (tmp_path / target.lstrip("/")).mkdir(exist_ok=True)
    subprocess.run(["sh", "-euc", command.replace(" /", f" {tmp_path}/")], check=True)
    placed = tmp_path / f".{target}/usr/lib/x86_64-linux-gnu"
    assert (placed / "liby.so.9.0").readlink() == Path("liby.so.9.0.1")
    assert (placed / "liby.so.9.0").read_bytes() == b"library"
