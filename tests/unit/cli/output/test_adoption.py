"""Output of `adopt` names another Python that has wheels of pins."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.catalog.advise.advice import Query
from envbuilder.catalog.api_names import ApiMap
from envbuilder.cli.output.adoption import adoption_document, adoption_text
from envbuilder.lock.adopt import choose_environment
from envbuilder.lock.adoption import Adoption, OtherPython
from envbuilder.lock.project.conclusions import conclude
from envbuilder.lock.project.reading import read_project
from tests.fakes.catalogs import real_catalog


def test_another_python_is_shown_with_its_environment_and_the_option_that_chooses_it() -> None:
    found = conclude(read_project({"requirements.txt": "tensorflow==1.15.5\n"}), ApiMap())
    choice = choose_environment(real_catalog(), found, Query(cpu=True))
    adoption = Adoption(files=("requirements.txt",), last_change=None, found=found, choice=choice)
    assert adoption_document(adoption, None, None)["other_python"] is None
    assert choice.advice is not None
    other = OtherPython(advice=choice.advice, pins=("numpy==1.14.0", "scipy==1.0"))
    python = choice.advice.python.series
    shown = " ".join(adoption_text(replace(adoption, other_python=other), 120).split())
    assert f"numpy==1.14.0, scipy==1.0: have wheels for Python {python} " in shown
    assert f"this command with `--python {python}`" in shown
    assert shown.endswith("the environment is then tf-1.15-cpu")
    assert adoption_document(replace(adoption, other_python=other), None, None)["other_python"] == {
        "python": python,
        "environment": "tf-1.15-cpu",
        "pins": ["numpy==1.14.0", "scipy==1.0"],
    }
