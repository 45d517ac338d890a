"""Each kind of file says what its own tool would take from it, with the line; damage is a reason and no error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from envbuilder.catalog.api_names import ApiMap
from envbuilder.core.errors import UsageError
from envbuilder.lock.project.clues import Clue, ClueKind, SourceLine
from envbuilder.lock.project.conclusions import Device, conclude
from envbuilder.lock.project.reading import project_files, read_project, reader_of

NAMES = (
    *("requirements.txt", "pyproject.toml", "setup.cfg", "setup.py", "environment.yml", "Pipfile", "Pipfile.lock"),
    *("pylock.toml", "runtime.txt", "apt.txt", "Dockerfile", "README.md", "a.ipynb", "a.py"),
)


def said(name: str, text: str, **others: str) -> list[tuple[str, str, int]]:
    """Return kind, value and line of each clue of a file."""
    found = read_project({name: text, **others})
    return [(clue.kind.value, clue.value, clue.line.number) for clue in found.clues if clue.line.file == name]


def unused(name: str, text: str) -> list[tuple[str, str]]:
    found = conclude(read_project({name: text}), ApiMap())
    return [(each.line.text, each.reason) for each in found.unused]


def test_requirements_with_hashes_continuations_comments_and_inclusions() -> None:
    text = "-r more/base.txt\nnumpy==1.19.5 \\\n    --hash=sha256:00\npandas ; python_version < '3'  # old\n"
    found = read_project({"requirements.txt": text, "more/base.txt": "six>=1\n-r ../requirements.txt\n"})
    assert [(str(clue.line), clue.value, clue.marker) for clue in found.clues] == [
        ("more/base.txt:1", "six>=1", ""),
        ("requirements.txt:2", "numpy==1.19.5", ""),
        ("requirements.txt:4", "pandas", 'python_version < "3"'),
    ]
    assert [each.reason for each in found.unused] == ["includes itself"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("git+https://example.org/a.git#egg=a", "installed from an address"),
        ("-e .", "installed from an address"),
        ("a @ https://example.org/a.whl", "installed from an address"),
        ("--find-links https://example.org", "option of pip"),
        ("-r missing.txt", "not in the project"),
        ("tf-nightly", "another build of TensorFlow"),
        ("pywin32; sys_platform == 'win32'", "other systems"),
        ("futures; python_version < '3.2'", "other versions of Python"),
        ("pkg-resources==0.0.0", "installs packages"),
        ("what is this", "not a requirement"),
    ],
)
def test_a_line_that_is_not_taken_over_says_why(line: str, reason: str) -> None:
    [(text, found)] = unused("requirements.txt", f"{line}\n")
    assert reason in found
    assert text == line


def test_tensorflow_of_a_gpu_says_version_and_device() -> None:
    assert said("requirements.txt", "tensorflow-gpu==1.4.0\n") == [
        ("tensorflow", "==1.4.0", 1),
        ("device", "gpu", 1),
    ]


def test_setup_py_is_read_and_not_run(tmp_path: Path) -> None:
    text = (
        f"open({str(tmp_path / 'ran')!r}, 'w')\nfrom setuptools import setup\nneeds = ['tensorflow>=1.4', 'six']\n"
        "setup(python_requires='>=3.6', install_requires=needs)\n"
    )
    assert said("setup.py", text) == [("python", ">=3.6", 4), ("tensorflow", ">=1.4", 3), ("package", "six", 3)]
    assert not (tmp_path / "ran").exists()


def test_requirements_that_a_setup_py_computes_are_named() -> None:
    [(_, reason)] = unused("setup.py", "from setuptools import setup\nsetup(install_requires=read('x'))\n")
    assert "computed" in reason


def test_metadata_of_pep_621_and_of_setup_cfg() -> None:
    text = '[project]\nrequires-python = ">=3.9"\ndependencies = [\n  "tensorflow~=2.12.0",\n]\n'
    assert said("pyproject.toml", text) == [("python", ">=3.9", 2), ("tensorflow", "~=2.12.0", 4)]
    text = "[options]\npython_requires = >=3.6\ninstall_requires =\n    keras==2.2.4\n    six\n"
    assert said("setup.cfg", text) == [("python", ">=3.6", 2), ("keras", "==2.2.4", 4), ("package", "six", 5)]


def test_conda_says_software_and_packages() -> None:
    text = (
        "name: x\ndependencies:\n  - python=3.6\n  - conda-forge::tensorflow-gpu=1.14\n  - cudnn=7.6\n  - libgcc\n"
        "  - pip:\n    - keras==2.2.5\n"
    )
    assert said("environment.yml", text) == [
        ("python", "==3.6.*", 3),
        ("tensorflow", "==1.14.*", 4),
        ("device", "gpu", 4),
        ("cudnn", "==7.6.*", 5),
        ("keras", "==2.2.5", 8),
    ]


def test_pipenv_says_ranges_and_its_lock_exact_versions() -> None:
    text = '[packages]\ntensorflow = "==1.15.0"\nsix = "*"\n[requires]\npython_version = "3.7"\n'
    assert [each[:2] for each in said("Pipfile", text)] == [
        ("tensorflow", "==1.15.0"),
        ("package", "six"),
        ("python", "==3.7.*"),
    ]
    lock = json.dumps({"default": {"six": {"version": "==1.16.0"}}, "develop": {"pytest": {"version": "==7.0"}}})
    assert said("Pipfile.lock", lock) == [("package", "six==1.16.0", 1)]


def test_a_dockerfile_says_base_packages_and_variables() -> None:
    text = (
        "FROM nvidia/cuda:9.0-cudnn7-devel-ubuntu16.04\nENV A=1 B='two words'\nENV PATH=/x:$PATH\n"
        "RUN apt-get update && apt-get install -y --no-install-recommends \\\n    libsm6 git\n"
        'RUN pip install --no-cache-dir -i https://example.org "tensorflow-gpu==1.7.0"; echo done\n'
    )
    assert said("Dockerfile", text) == [
        ("cuda", "==9.0.*", 1),
        ("device", "gpu", 1),
        ("cudnn", "==7.*", 1),
        ("variable", "A=1", 2),
        ("variable", "B=two words", 2),
        ("os-package", "libsm6", 4),
        ("os-package", "git", 4),
        ("tensorflow", "==1.7.0", 6),
        ("device", "gpu", 6),
    ]
    found = conclude(read_project({"Dockerfile": text}), ApiMap())
    assert [clue.value for clue in found.os_packages] == ["libsm6"]


def test_arguments_and_variables_of_a_dockerfile_have_their_values() -> None:
    text = (
        "ARG TF=1.13.1\nARG REST\nFROM tensorflow/tensorflow:${TF}-gpu-py3 AS base\nFROM base\n"
        'ENV KERAS "2.2.4"\nENV DATA=/data/$KERAS HOME_OF=$HOME\n'
        "RUN pip install keras==$KERAS numpy==${NUMPY:-1.16.4}\n"
        "RUN pip install scipy==$REST six\nWORKDIR $DATA\nCMD echo $KERAS\n"
    )
    assert said("Dockerfile", text) == [
        ("tensorflow", "==1.13.1", 3),
        ("device", "gpu", 3),
        ("variable", "KERAS=2.2.4", 5),
        ("variable", "DATA=/data/2.2.4", 6),
        ("keras", "==2.2.4", 7),
        ("package", "numpy==1.16.4", 7),
        ("package", "six", 8),
        ("workdir", "/data/2.2.4", 9),
        ("command", "sh -c 'echo $KERAS'", 10),
    ]
    assert unused("Dockerfile", text) == []


def test_the_last_stage_of_a_dockerfile_says_what_is_copied_and_started() -> None:
    text = (
        "FROM gcc AS build\nWORKDIR /build\nCOPY . .\nCMD make\nFROM python:3.8\nWORKDIR /srv\nWORKDIR app\n"
        'COPY requirements.txt setup.py ./\nCOPY --chown=1:1 src /srv/src\nCOPY run.py .\nADD ["a b", "/data/"]\n'
        "COPY --from=build /build/x /x\nADD https://example.org/x /x\nCOPY $A /x\nWORKDIR $HOME\n"
        'ENTRYPOINT ["python", "-m", "x y"]\nCMD ["--old"]\nCMD python run.py && ls\n'
    )
    reading = read_project({"Dockerfile": text})
    kinds = (ClueKind.WORKDIR, ClueKind.COPY, ClueKind.ENTRYPOINT, ClueKind.COMMAND)
    assert [(clue.value, clue.line.number) for clue in reading.clues if clue.kind in kinds] == [
        ("/srv", 6),
        ("/srv/app", 7),
        ("requirements.txt /srv/app/", 8),
        ("setup.py /srv/app/", 8),
        ("src /srv/src", 9),
        ("run.py /srv/app/", 10),
        ("'a b' /data/", 11),
        ("python -m 'x y'", 16),
        ("--old", 17),
        ("sh -c 'python run.py && ls'", 18),
    ]
    assert [each.line.number for each in reading.unused] == [1, 12, 13, 14, 15]
    found = conclude(reading, ApiMap())
    assert {kind.value: clue.value for kind, clue in found.container.items()} == {
        "workdir": "/srv/app",
        "entrypoint": "python -m 'x y'",
        "command": "sh -c 'python run.py && ls'",
    }
    assert len(found.copies) == 5


def test_the_settings_of_one_dockerfile_are_taken_over() -> None:
    files = {"Dockerfile": "FROM a\nWORKDIR /proc\nCMD ls\n", "Dockerfile.gpu": "FROM a\nWORKDIR /app\nCMD other\n"}
    found = conclude(read_project(files), ApiMap())
    assert [clue.value for clue in found.container.values()] == ["sh -c ls"]
    told = {str(each.line): each.reason for each in found.unused}
    assert "'/proc' is in a directory of the base" in told["Dockerfile:2"]
    assert told["Dockerfile.gpu:2"] == told["Dockerfile.gpu:3"] == "the settings are taken from Dockerfile"


def test_an_old_image_of_tensorflow_without_py3_has_python_2() -> None:
    assert ("python", "==2.7.*", 1) in said("Dockerfile", "FROM tensorflow/tensorflow:1.4.0-gpu\n")
    assert ("python", "==2.7.*", 1) not in said("Dockerfile", "FROM tensorflow/tensorflow:2.4.0-gpu\n")


def test_a_notebook_says_what_it_installs_and_imports() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["import nothing"]},
        {"cell_type": "code", "source": ["!pip install -q tensorflow==2.3.0 gym\n", "%matplotlib inline\n"]},
        {"cell_type": "code", "source": ["import cv2\n", "if cv2:\n", "    !ls\n"]},
        {"cell_type": "code", "source": ["%%bash\n", "echo (\n"]},
    ]
    assert [each[:2] for each in said("a.ipynb", json.dumps({"cells": cells}))] == [
        ("tensorflow", "==2.3.0"),
        ("package", "gym"),
        ("import", "cv2"),
    ]


def test_a_cell_that_is_python_keeps_its_comments_that_ask_and_its_lines_that_begin_with_a_percent_sign() -> None:
    cells = [
        ["def layer(x,\n", "      use_pooling):  # Use 2x2 max-pooling?\n", "    return tf.layers.dense(x, 1)\n"],
        ["print('%d'\n", "      % 3)\n"],
        ["import tensorflow as tf\n", "files = !ls\n", "if files:\n", "    tf?\n"],
    ]
    document = {"cells": [{"cell_type": "code", "source": cell} for cell in cells]}
    found = read_project({"a.ipynb": json.dumps(document)})
    assert [(clue.value, clue.line.number) for clue in found.clues if clue.kind is ClueKind.API] == [
        ("tf.layers.dense", 3),
        ("tf.layers", 3),
    ]
    assert not found.unused


def test_a_cell_that_is_not_python_is_named_and_does_not_hide_the_others() -> None:
    cells = [
        ["import cv2\n", "!tool show --dir {path} \\\n", "   --all\n"],
        ["ls ./data\n"],
        ["import gym"],
    ]
    document = {"cells": [{"cell_type": "code", "source": cell} for cell in cells]}
    found = read_project({"a.ipynb": json.dumps(document)})
    assert [(clue.value, clue.line.number) for clue in found.clues] == [("cv2", 1), ("gym", 5)]
    [unused] = found.unused
    assert (str(unused.line), unused.line.text) == ("a.ipynb:4", "ls ./data")
    assert unused.reason == "begins a cell that is not Python 3"


def test_a_source_for_python_2_says_what_it_imports_and_which_tensorflow_it_uses() -> None:
    text = (
        "import tensorflow as tf\nimport cv2, Queue\nfor i in xrange(3):\n    print 'x', tf.contrib.layers.flatten(i)\n"
        "    self.y = tf.log(  # tf.later\n"
    )
    assert said("train.py", text) == [
        ("python", "==2.7.*", 4),
        ("import", "tensorflow", 1),
        ("import", "cv2", 2),
        ("api", "tf.contrib.layers.flatten", 4),
        ("api", "tf.log", 5),
        ("api", "tf.contrib.layers", 4),
        ("api", "tf.contrib", 4),
    ]


def test_a_notebook_for_python_2_says_so() -> None:
    document = {"cells": [{"cell_type": "code", "source": ["import gym\n", "print 'x'\n"]}]}
    assert ("python", "==2.7.*", 2) in said("a.ipynb", json.dumps(document))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("* **Tensorflow r1.0.1**", [("tensorflow", "==1.0.*")]),
        ("The code is tested under TF1.2 GPU version and Python 2.7", [("tensorflow", "==1.2.*")]),
        ("Requires TensorFlow 1.4+ and Keras (>= 2.1)", [("tensorflow", ">=1.4"), ("keras", ">=2.1")]),
        ("TensorFlow 1.8 or higher", [("tensorflow", ">=1.8")]),
        ("tensorflow-gpu v1.12.0", [("tensorflow", "==1.12.*")]),
        ("Tested with Tensorflow 2.9, 2.10.1, 2.11 (Mar 13, 2025).", [("tensorflow", ">=2.9,<2.12")]),
        ("TensorFlow 1.8 to 1.12, Keras 2.1.5", [("tensorflow", ">=1.8,<1.13"), ("keras", "==2.1.*")]),
        (
            "[TensorFlow](https://x/) 1.15, later TensorFlow 2.0",
            [("tensorflow", "==1.15.*"), ("tensorflow", "==2.0.*")],
        ),
        ("- **TensorFlow**: `1.13.1`", [("tensorflow", "==1.13.*")]),
        ("TF-Slim 1.1, TFX 1.2, tf.keras, TensorFlow 2", []),
    ],
)
def test_a_readme_names_versions_as_people_write_them(line: str, expected: list[tuple[str, str]]) -> None:
    assert [each[:2] for each in said("README.md", line)] == expected


def test_cuda_code_is_named_once_because_no_image_can_compile_it() -> None:
    files = {"ops/b/group.cu": "", "ops/a/sample_op.cu.cc": "", "ops/a/sample_op.cc": ""}
    [only] = read_project(files).unused
    assert str(only.line) == "ops/a/sample_op.cu.cc"
    assert only.reason == "and 1 other files are CUDA code, which must be compiled by nvcc; no image has nvcc"


def test_a_surer_clue_comes_before_one_that_was_guessed_and_a_difference_is_told() -> None:
    files = {
        "README.md": "`pip install tensorflow==1.15`\n",
        "requirements.txt": "tensorflow==2.4.1\n",
        "sub/requirements.txt": "tensorflow==2.3.0\n",
    }
    found = conclude(read_project(files), ApiMap())
    assert found.range_of(ClueKind.TENSORFLOW) == "==2.4.1"
    assert [(str(each.line), each.reason) for each in found.unused] == [
        ("sub/requirements.txt:1", "requirements.txt:1 says tensorflow ==2.4.1")
    ]
    assert found.device is Device.UNKNOWN


@pytest.mark.parametrize(
    ("files", "device"),
    [
        ({"environment.yml": "dependencies:\n- cudatoolkit=10.1\n- tensorflow=2.3\n"}, Device.GPU),
        ({"environment.yml": "dependencies:\n- tensorflow=2.3\n"}, Device.UNKNOWN),
        ({"requirements.txt": "tensorflow-cpu==2.4\n"}, Device.CPU),
        # A README may list what a GPU needs; the requirement is surer.
        ({"requirements.txt": "tensorflow-cpu==2.4\n", "README.md": "Install CUDA 11.0.\n"}, Device.CPU),
    ],
)
def test_a_release_of_cuda_says_that_a_project_is_for_gpus(files: dict[str, str], device: Device) -> None:
    assert conclude(read_project(files), ApiMap()).device is device


def test_imports_become_packages_only_where_nothing_is_required() -> None:
    code = "import os, sklearn, own\nfrom yaml import load\nfrom . import near\nimport tensorflow\n"
    files = {"main.py": code, "own/__init__.py": ""}
    assert [clue.value for clue in conclude(read_project(files), ApiMap()).packages] == ["scikit-learn", "pyyaml"]
    files["requirements.txt"] = "numpy\n"
    assert [clue.value for clue in conclude(read_project(files), ApiMap()).packages] == ["numpy"]


def test_variables_that_are_secrets_or_belong_to_the_environment_are_left_out() -> None:
    text = "FROM scratch\nENV API_TOKEN=1 LD_LIBRARY_PATH=/x TF_CPP_MIN_LOG_LEVEL=2\n"
    found = conclude(read_project({"Dockerfile": text}), ApiMap())
    assert [clue.value for clue in found.variables] == ["TF_CPP_MIN_LOG_LEVEL=2"]
    assert any("secret" in each.reason for each in found.unused)


def test_a_line_is_shown_in_one_short_line() -> None:
    assert SourceLine(file="a", number=1, text="x\x1b[31m" + "y" * 200).text.startswith("x [31my")
    assert len(SourceLine(file="a", number=1, text="y" * 200).text) == 100


@pytest.mark.parametrize("name", NAMES)
@given(text=st.text(max_size=200))
@example(text="\x00")
@example(text='{"cells": [1]}')
@example(text="[packages]\n\ta = 1")
@example(text="dependencies: [~]")
@example(text="dependencies:\n- pip: x\n- {}\n")
@example(text="(" * 300)
@example(text="ENV 'open")
def test_any_text_is_read_without_an_error(name: str, text: str) -> None:
    found = conclude(read_project({name: text}), ApiMap())
    assert all(isinstance(clue, Clue) for clue in found.packages)


def test_only_files_that_may_say_something_are_read(tmp_path: Path) -> None:
    for name in ("requirements.txt", "deep/er/requirements.txt", "deep/er/x.py", "venv/y.py", ".git/z.py", "data.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("\ufeffsix\n", encoding="utf-8")
    (tmp_path / "linked.py").symlink_to("/etc/passwd")
    assert project_files(tmp_path) == {"requirements.txt": "six\n", "deep/er/x.py": "six\n"}
    assert reader_of("deep/er/requirements.txt") is None


def test_a_project_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a directory"):
        project_files(tmp_path / "missing")
