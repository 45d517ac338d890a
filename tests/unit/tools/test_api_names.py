"""Public names are read from the files of a wheel as Python would see them."""

from __future__ import annotations

import io
import zipfile

import pytest

from envbuilder.core.versions import Release
from tools.api_map import combined, spelled
from tools.api_names import keras_names, names_of_wheel, public_names

GENERATED = """
from __future__ import print_function as _print_function
import os as _os
import sys
from tensorflow._api.v2 import nn
from tensorflow.python.ops.math_ops import add_v2 as add
from tensorflow.python.ops.math_ops import _hidden
from tensorboard.summary._tf import summary
estimator = _LazyLoader("estimator", globals(), "tensorflow_estimator")
setattr(_current_module, "keras", keras)
VERSION = 2
del nothing
"""


def wheel(**files: str) -> zipfile.ZipFile:
    """A wheel with these `__init__.py` files; `__` in a name stands for `/`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{name.replace('__', '/')}/__init__.py", text)
    return zipfile.ZipFile(buffer)


def test_a_module_has_what_it_imports_and_sets_and_does_not_delete() -> None:
    assert public_names(GENERATED) == {"nn", "add", "summary", "estimator", "keras"}
    assert public_names("from a import b, c\ndel c") == {"b"}


def test_the_api_of_tensorflow_2_is_read_with_its_modules() -> None:
    files = {"tensorflow": GENERATED, "tensorflow___api__v2": "", "tensorflow___api__v2__nn": "from a import relu"}
    found = names_of_wheel(wheel(**files))
    assert found["tf.nn"] == {"relu"}
    assert "tf.contrib" not in found


def test_a_module_of_another_distribution_is_not_taken_for_read() -> None:
    files = {"tensorflow": GENERATED, "tensorflow___api__v2": "", "tensorflow___api__v2__summary": "from a import b"}
    assert "tf.summary" not in names_of_wheel(wheel(**files))
    files = {"tensorflow": "from tensorflow import test", "tensorflow__test": "from a import b"}
    assert names_of_wheel(wheel(**files))["tf.test"] == {"b"}


@pytest.mark.parametrize("line", ["app.flags = flags", "_current_module.app.flags = flags"])
def test_a_name_that_the_top_module_adds_to_another_is_read(line: str) -> None:
    root = f"from tensorflow._api.v1 import app\nfrom tensorflow.python.platform import flags\n{line}\nother.x = 1\n"
    files = {"tensorflow": root, "tensorflow___api__v1": "", "tensorflow___api__v1__app": "from a import run"}
    found = names_of_wheel(wheel(**files))
    assert found["tf.app"] == {"run", "flags"}
    assert "tf.other" not in found


def test_the_packages_of_contrib_are_those_in_the_wheel() -> None:
    root = "from tensorflow._api.v1 import nn\ncontrib = LazyLoader('contrib', globals(), 'tensorflow.contrib')"
    files = {"tensorflow": root, "tensorflow__contrib": "", "tensorflow__contrib__layers": ""}
    assert names_of_wheel(wheel(**files))["tf.contrib"] == {"layers"}


def test_a_wheel_without_generated_files_is_refused() -> None:
    with pytest.raises(ValueError, match="no generated API files"):
        names_of_wheel(wheel(tensorflow="from tensorflow.python import *"))
    with pytest.raises(ValueError, match="no API files"):
        keras_names(wheel(keras=""))


def test_names_of_several_releases_become_spans() -> None:
    one, two, three = map(Release, ("1.4", "1.5", "2.0"))
    made = combined(
        {two: {"tf": {"Session", "add"}}, one: {"tf": {"Session"}}, three: {"tf": {"add"}, "tf.nn": {"relu"}}}
    )
    assert spelled(made.modules["tf"].names["Session"], made.releases) == "1.4-1.5"
    assert spelled(made.modules["tf"].names["add"], made.releases) == "1.5-2.0"
    assert made.modules["tf.nn"].read == {three}
