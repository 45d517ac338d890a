"""Projects shaped like public repositories of 2017 to 2023 get the environment that they were written for.

The requirement lines are those of real repositories, read on 2026-11-23; everything else is written for this test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import pytest

from envbuilder.catalog.advise.advice import Query
from envbuilder.catalog.advise.recommend import described
from envbuilder.catalog.load.api_names import load_api
from envbuilder.catalog.machine import gpu_asked
from envbuilder.core.versions import Release
from envbuilder.lock.adopt import (
    EnvironmentChoice,
    choose_environment,
    newest_tried,
    requested_versions,
    software_changes,
    spec_of,
)
from envbuilder.lock.project.clues import ClueKind
from envbuilder.lock.project.conclusions import Conclusions, conclude
from envbuilder.lock.project.reading import read_project
from tests.fakes.catalogs import ROOT, real_catalog

API = load_api(ROOT / "matrices")
GRAPH = "import tensorflow as tf\nx = tf.placeholder(tf.float32)\ntf.Session().run(x)\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    environment: str
    python: str
    packages: tuple[str, ...] = ()
    given_up: tuple[ClueKind, ...] = ()


def concluded(files: Mapping[str, str]) -> Conclusions:
    return conclude(read_project(files), API)


def chosen(files: Mapping[str, str], query: Query | None = None) -> EnvironmentChoice:
    return choose_environment(real_catalog(), concluded(files), query or Query())


PROJECTS: Mapping[str, tuple[Mapping[str, str], Expected]] = {
    "language model with two Dockerfiles, one for GPUs": (
        {
            "Dockerfile.cpu": "FROM tensorflow/tensorflow:1.12.0-py3\nENV LANG=C.UTF-8\nRUN pip3 install fire\n",
            "Dockerfile.gpu": "FROM tensorflow/tensorflow:1.12.0-gpu-py3\nRUN pip3 install -r requirements.txt\n",
            "requirements.txt": "fire>=0.1.3\nregex==2017.4.5\nrequests==2.21.0\ntqdm==4.31.1\n",
        },
        Expected(
            environment="tf-1.12-cuda9.0",
            python="3.6",
            packages=("fire>=0.1.3", "regex==2017.4.5", "requests==2.21.0", "tqdm==4.31.1"),
        ),
    ),
    "face recognition pinned to a minor release": (
        {
            "requirements.txt": "tensorflow==1.7\nscipy\nscikit-learn\nopencv-python\nh5py\nmatplotlib\nPillow\n",
            "src/net.py": GRAPH,
        },
        Expected(
            environment="tf-1.7-cuda9.0",
            python="3.6",
            packages=("h5py", "matplotlib", "opencv-python", "pillow", "scikit-learn", "scipy"),
        ),
    ),
    "library of Poetry with a range of Python": (
        {
            "pyproject.toml": (
                '[tool.poetry]\nname = "separator"\ndescription = "on tensorflow"\n[tool.poetry.dependencies]\n'
                'python = ">=3.8,<3.12"\nffmpeg-python = "^0.2.0"\nhttpx = {extras = ["http2"], version = "^0.19.0"}\n'
                'musdb = {version = "^0.4.0", optional = true}\ntensorflow = "2.12.1"\nnumpy = "<2.0.0"\n'
            )
        },
        Expected(
            environment="tf-2.12-cuda11.8",
            python="3.11",
            packages=("ffmpeg-python<0.3,>=0.2.0", "httpx[http2]<0.20,>=0.19.0", "numpy<2.0.0"),
        ),
    ),
    "open range, decided by the names that the code uses": (
        {
            "requirements.txt": "tensorflow >= 1.11.0   # CPU Version of TensorFlow.\n# tensorflow-gpu  >= 1.11.0\n",
            "modeling.py": f"{GRAPH}tf.contrib.layers.layer_norm(x)\nfrom tensorflow.python.ops import variables\n",
        },
        Expected(environment="tf-1.15-cuda10.0", python="3.6"),
    ),
    "generator of sound for a GPU": (
        {
            "requirements.txt": "librosa>=0.5\ntensorflow>=1.0.0\n",
            "requirements_gpu.txt": "librosa>=0.5\ntensorflow-gpu>=1.0.0\n",
            "requirements_test.txt": "-r requirements.txt\npep8>=1.7.0\nnose>=1.3.7\n",
            "train.py": GRAPH,
        },
        Expected(environment="tf-1.15-cuda10.0", python="3.6", packages=("librosa>=0.5",)),
    ),
    "setup.py and a Dockerfile of Python 3.6": (
        {
            "Dockerfile": "FROM python:3.6\nRUN apt-get -y update && apt-get -y install ffmpeg\n"
            "ENV CODE_DIR /root/code\n"
            "RUN rm -rf __pycache__ && \\\n    pip install 'tensorflow < 2' && \\\n    pip install -e .[test]\n",
            "setup.py": "from setuptools import setup\n"
            "setup(name='x', install_requires=['gym>=0.15.4, <0.16.0', 'scipy', 'tqdm'])\n",
        },
        Expected(environment="tf-1.15-cuda10.0", python="3.6", packages=("gym<0.16.0,>=0.15.4", "scipy", "tqdm")),
    ),
    "versions in the README only, with standalone Keras": (
        {
            "README.md": "    - Python 3.5.2\n    - Keras 2.1.5\n    - tensorflow 1.6.0\n",
            "yolo.py": "import numpy as np\nfrom keras import backend\nfrom PIL import Image\n"
            "from own.utils import x\nimport cv2\n",
            "own/utils.py": "x = 1\n",
        },
        Expected(
            environment="tf-1.6-cuda9.0",
            python="3.6",
            packages=("keras==2.1.6", "numpy", "opencv-python-headless", "pillow"),
        ),
    ),
    "pins of a graph network, also in setup.py": (
        {
            "requirements.txt": "networkx==2.2\nscipy==1.1.0\nsetuptools==40.6.3\nnumpy==1.15.4\ntensorflow==1.15.4\n",
            "setup.py": "from setuptools import setup\nsetup(install_requires=['numpy>=1.15.4', 'networkx>=2.2'])\n",
        },
        Expected(
            environment="tf-1.15-cuda10.0", python="3.6", packages=("networkx==2.2", "numpy==1.15.4", "scipy==1.1.0")
        ),
    ),
    "custom operations on NVIDIA's versions": (
        {
            "Dockerfile": "FROM tensorflow/tensorflow:1.14.0-gpu-py3\n"
            "RUN pip install scipy==1.3.3 && pip install Pillow==6.2.1",
        },
        Expected(environment="tf-1.14-cuda10.0", python="3.6", packages=("pillow==6.2.1", "scipy==1.3.3")),
    ),
    "conda with a pre-release": (
        {
            "environment.yml": "name: yolo\ndependencies:\n  - python==3.7\n  - opencv\n  - cudatoolkit==10.1.243\n"
            "  - pip:\n    - tensorflow-gpu==2.1.0rc1\n    - lxml\n",
        },
        Expected(
            environment="tf-2.1-cuda10.1",
            python="3.7",
            packages=("lxml", "opencv-python-headless"),
            given_up=(ClueKind.TENSORFLOW, ClueKind.CUDA),
        ),
    ),
    "Keras 3 with a pylock": (
        {
            "pylock.toml": 'lock-version = "1.0"\nrequires-python = ">=3.11"\ncreated-by = "uv"\n'
            '[[packages]]\nname = "tensorflow"\nversion = "2.16.1"\n[[packages]]\nname = "rich"\nversion = "13.7.1"\n',
        },
        Expected(environment="tf-2.16-cuda12.3", python="3.11", packages=("rich==13.7.1",)),
    ),
}


@pytest.mark.parametrize("name", PROJECTS)
def test_a_project_gets_its_environment(name: str) -> None:
    files, expected = PROJECTS[name]
    found = concluded(files)
    choice = choose_environment(real_catalog(), found, Query())
    assert choice.advice is not None
    spec = spec_of(real_catalog(), found, choice.advice, None)
    assert (
        Expected(
            environment=spec.environment,
            python=choice.advice.python.series,
            packages=spec.packages,
            given_up=tuple(each.clue.kind for each in choice.given_up),
        )
        == expected
    )


def test_code_for_python_2_and_an_older_tensorflow_has_no_environment_and_the_nearest_is_named() -> None:
    choice = chosen({"README.md": "tensorflow 1.2\n", "prepro.py": 'print "start"\n'})
    assert choice.advice is None
    assert choice.nearest[0].environment == "tf-1.4-cuda8.0"
    assert any("1.2" in change.text for change in choice.nearest[0].changes)


def test_many_names_in_the_code_outweigh_a_version_that_the_readme_mentions() -> None:
    names = (
        "placeholder",
        "Session",
        "layers.dense",
        "layers.conv2d",
        "layers.max_pooling2d",
        "contrib.layers.flatten",
    )
    more = ("train.AdamOptimizer", "global_variables_initializer", "variable_scope", "get_variable", "train.Saver")
    readme = "Starting with TensorFlow 2.1 the package is for both devices.\n"
    code = "import tensorflow as tf\n" + "".join(f"tf.{name}\n" for name in (*names, *more))
    found = concluded({"README.md": readme, "a.py": code})
    assert found.range_of(ClueKind.TENSORFLOW) == ""
    [unused] = found.unused
    assert str(unused.line) == "README.md:1"
    assert "14 names that no such TensorFlow has, such as tf.placeholder (a.py:2)" in unused.reason
    stated = concluded({"requirements.txt": "tensorflow==2.1.0\n", "a.py": code})
    assert stated.range_of(ClueKind.TENSORFLOW) == "==2.1.0"
    few = concluded({"README.md": readme, "a.py": GRAPH})
    assert few.range_of(ClueKind.TENSORFLOW) == "==2.1.*"


def test_a_user_may_ask_for_another_tensorflow_than_the_project() -> None:
    reading = read_project({"README.md": "tensorflow 1.2\n", "a.py": GRAPH})
    choice = choose_environment(real_catalog(), conclude(reading, API, requested_versions("1.4", None)), Query())
    assert choice.advice is not None
    assert choice.advice.environment == "tf-1.4-cuda8.0"


def test_another_python_is_given_up_before_another_tensorflow() -> None:
    choice = chosen({"requirements.txt": "tensorflow==1.12.0\n", "runtime.txt": "python-3.5.6\n"})
    assert choice.advice is not None
    assert choice.advice.environment.startswith("tf-1.12-")
    assert [each.clue.kind for each in choice.given_up] == [ClueKind.PYTHON]


def test_the_gpu_of_the_user_decides_among_the_environments_of_an_open_range() -> None:
    catalog = real_catalog()
    newest = Query(hosts=described(None, (gpu_asked(catalog.cuda, "RTX 4090"),)))
    choice = chosen({"requirements.txt": "tensorflow>=2.2\n"}, newest)
    assert choice.advice is not None
    assert not choice.advice.is_doubtful
    none = chosen({"requirements.txt": "tensorflow==1.4.1\n"}, newest)
    assert none.advice is None or none.advice.verdict.value != "fits"


@pytest.mark.parametrize(
    ("files", "day", "newest", "environment"),
    [
        ({"requirements.txt": "tensorflow\n"}, date(2021, 4, 19), "2.4", "tf-2.4-cpu"),
        ({"requirements.txt": "tensorflow>=1.11.0\n"}, date(2018, 12, 1), "1.12", "tf-1.12-cpu"),
        ({"train.py": f"{GRAPH}tf.Session()\ntf.sort(x)\n"}, date(2019, 4, 1), "1.13", "tf-1.13-cpu"),
        ({"requirements.txt": "tensorflow\n"}, date(2016, 1, 1), "1.4", "tf-1.4-cpu"),
        # A release, a range with an end, names of a later release and a project of today are not limited by a day.
        ({"requirements.txt": "tensorflow==2.15.1\n"}, date(2018, 1, 1), None, "tf-2.15-cpu"),
        ({"requirements.txt": "tensorflow>=1.13,<2\n"}, date(2018, 1, 1), None, "tf-1.15-cpu"),
        ({"train.py": f"{GRAPH}tf.Session()\ntf.sort(x)\n"}, date(2018, 1, 1), None, "tf-1.15-cpu"),
        ({"requirements.txt": "tensorflow>=2.5\n"}, date(2021, 4, 19), None, "tf-2.15-cpu"),
        ({"requirements.txt": "tensorflow\n"}, date(2030, 1, 1), None, "tf-2.15-cpu"),
        ({"requirements.txt": "tensorflow\n"}, None, None, "tf-2.15-cpu"),
    ],
)
def test_a_project_without_an_upper_bound_gets_the_release_of_its_last_change(
    files: Mapping[str, str], day: date | None, newest: str | None, environment: str
) -> None:
    catalog, found = real_catalog(), concluded(files)
    tried = newest_tried(catalog, found, day)
    assert tried == (Release(newest) if newest else None)
    choice = choose_environment(catalog, found, Query(cpu=True), tried)
    assert choice.advice
    assert (choice.advice.environment, choice.is_newer) == (environment, False)


def test_a_newer_gpu_comes_before_the_day_of_the_last_change() -> None:
    catalog, found = real_catalog(), concluded({"requirements.txt": "tensorflow\n"})
    machine = Query(hosts=described(None, (gpu_asked(catalog.cuda, "RTX 3090"),)))
    choice = choose_environment(catalog, found, machine, newest_tried(catalog, found, date(2018, 5, 1)))
    assert choice.advice
    assert (str(choice.newest), choice.is_newer) == ("1.8", True)


def test_a_range_of_the_user_has_no_end_by_the_day() -> None:
    found = conclude(read_project({"requirements.txt": "tensorflow\n"}), API, requested_versions(">=1.12", None))
    assert newest_tried(real_catalog(), found, date(2018, 12, 1)) is None


def test_a_name_that_the_pinned_release_lacks_is_told_with_the_line() -> None:
    found = concluded({"requirements.txt": "tensorflow==1.12.0\n", "src/sample.py": f"{GRAPH}tf.sort(x)\n"})
    [missing] = [lacking for release, lacking in found.missing.items() if str(release) == "1.12"]
    assert [(clue.value, str(clue.line)) for clue in missing] == [("tf.sort", "src/sample.py:4")]
    assert [str(release) for release in found.releases] == ["1.13", "1.14", "1.15"]


def test_what_is_tried_with_an_alternative_says_nothing_about_the_release() -> None:
    code = "import tensorflow as tf\ntry:\n    tf.Session\nexcept AttributeError:\n    tf.compat.v1.Session\n"
    assert not concluded({"x.py": code}).missing


def test_keras_becomes_the_newest_that_works_and_that_is_a_change() -> None:
    files = {"requirements.txt": "tensorflow==1.13.*\nkeras>=2.2\n"}
    found = concluded(files)
    advice = chosen(files, Query(cpu=True)).advice
    assert advice is not None
    changes = {each.before: each for each in software_changes(real_catalog(), found, advice)}
    assert list(changes) == ["keras>=2.2"]
    assert changes["keras>=2.2"].after.startswith("keras==2.")
    assert "known to work with TensorFlow 1.13" in changes["keras>=2.2"].reason
    exact = concluded({"requirements.txt": f"tensorflow==1.13.*\n{changes['keras>=2.2'].after}\n"})
    assert software_changes(real_catalog(), exact, advice) == ()
