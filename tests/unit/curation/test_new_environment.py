"""A new release becomes a row from the newest earlier one of its kind, and only what fits is taken over."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from packaging.version import Version

from envbuilder.catalog.claims import Claims, claims_of
from envbuilder.catalog.cuda import CudnnNeed, CudnnRule
from envbuilder.catalog.environments import Catalog
from envbuilder.core.errors import UsageError
from envbuilder.core.versions import Release
from envbuilder.core.yaml.canonical import Plain
from envbuilder.curation.environment_files import read_document
from envbuilder.curation.new_environment import NewRelease, library_set, model_for, new_environment
from tests.fakes.catalogs import DATA, small_catalog, small_row

CATALOG = small_catalog()
MODEL = small_row("tf-2.4-cuda11.0")
CLAIMS = claims_of(MODEL)
PINS = ("nvidia-cublas-cu11<12.0,>=11.11.3.6", "nvidia-cudnn-cu11<9.0,>=8.7.0.84")


def release(claims: Claims = CLAIMS, *, pins: tuple[str, ...] = (), pythons: str = "3.7 3.8 3.9") -> NewRelease:
    return NewRelease(
        package="tensorflow" if claims.cuda else "tensorflow-cpu",
        version=Version("2.5.0"),
        pythons=tuple(map(Release, pythons.split())),
        claims=claims,
        cuda_pins=pins,
        sha256="b" * 64,
        source="read from the wheel x.whl by envbuilder catalog audit, 2026-11-21",
        today=date(2026, 11, 21),
    )


def document() -> dict[str, Plain]:
    return read_document(DATA / "catalog" / "environments" / f"{MODEL.id}.yaml")[1]


def made(new: NewRelease, libraries: str = "") -> dict[str, Plain]:
    return new_environment(MODEL, document(), new, libraries)


def bases_of(row: dict[str, Plain]) -> list[str]:
    bases = row["bases"]
    assert isinstance(bases, list)
    return [str(base["base"]) for base in bases if isinstance(base, dict)]


def test_the_id_says_release_and_toolkit() -> None:
    assert release().id == "tf-2.5-cuda11.0"
    assert release(replace(CLAIMS, cuda=None)).id == "tf-2.5-cpu"


def test_the_newest_earlier_row_of_the_same_kind_is_the_model() -> None:
    assert model_for(CATALOG, release()).id == "tf-2.4-cuda11.0"
    assert model_for(CATALOG, release(replace(CLAIMS, cuda=None))).id == "tf-2.15-cpu"


def test_a_release_before_all_rows_starts_from_the_oldest() -> None:
    assert model_for(CATALOG, replace(release(), version=Version("1.3.0"))).id == "tf-1.7-cuda9.0"


def test_a_catalog_without_rows_of_this_kind_is_told() -> None:
    empty: Catalog = replace(CATALOG, environments=())
    with pytest.raises(UsageError, match="no environment of this kind"):
        model_for(empty, release())


def test_the_row_has_what_was_measured_and_keeps_bounds_and_traps() -> None:
    row = made(release())
    tensorflow = row["tensorflow"]
    assert isinstance(tensorflow, dict)
    assert (tensorflow["package"], tensorflow["version"]) == ("tensorflow", "2.5.0")
    assert tensorflow["measured"] == "b" * 64
    assert row["cutoff"] == "2026-11-21"
    assert row["constraints"] == document()["constraints"]
    assert row["cuda"] == document()["cuda"]
    assert row["summary"] == "TensorFlow 2.5.0, CUDA 11.0, cuDNN 8.0"


def test_a_base_without_a_wheel_for_its_interpreter_is_left_out() -> None:
    assert len(bases_of(made(release()))) > 1
    only = [choice.system.id for choice in MODEL.bases if str(choice.python) == "3.8"]
    assert bases_of(made(release(pythons="3.8"))) == only
    with pytest.raises(UsageError, match=r"no base of tf-2\.4-cuda11\.0 has a Python"):
        made(release(pythons="3.12"))


def test_a_base_with_older_c_libraries_is_left_out() -> None:
    oldest = min(choice.system.glibc for choice in MODEL.bases)
    left = bases_of(made(release(replace(CLAIMS, glibc=Release("2.32")))))
    assert left == [choice.system.id for choice in MODEL.bases if choice.system.glibc > oldest]


def test_an_image_whose_cudnn_is_refused_is_left_out() -> None:
    assert CLAIMS.cuda
    need = CudnnNeed(compiled=Release("8.5"), rule=CudnnRule.SAME_MAJOR_AT_LEAST)
    left = bases_of(made(release(replace(CLAIMS, cuda=replace(CLAIMS.cuda, cudnn=need)))))
    assert "image-11.0" not in left
    assert left


def test_wheels_of_cuda_are_the_lower_bounds_of_the_release_s_own_extra() -> None:
    entry = library_set(CATALOG, release(pins=PINS))
    assert entry is not None
    assert entry.id == "cu11-11.0-cudnn8.7"
    assert entry.wheels == ("nvidia-cublas-cu11==11.11.3.6", "nvidia-cudnn-cu11==8.7.0.84")
    assert str(entry.cudnn) == "8.7.0"
    row = made(release(pins=PINS), "cu11-11.0-cudnn8.7")
    assert isinstance(row["bases"], list)
    named = [base["libraries"] for base in row["bases"] if isinstance(base, dict) and "libraries" in base]
    assert set(named) == {"cu11-11.0-cudnn8.7"}


def test_a_second_set_with_the_same_cuda_and_cudnn_has_a_name_of_its_own() -> None:
    first = library_set(CATALOG, release(pins=PINS))
    assert first is not None
    known = replace(CATALOG.libraries[0], id=first.id)
    second = library_set(replace(CATALOG, libraries=(*CATALOG.libraries, known)), release(pins=PINS))
    assert second is not None
    assert second.id == f"{first.id}-tf-2.5"


def test_no_set_is_made_without_an_extra_or_when_the_catalog_has_it() -> None:
    assert library_set(CATALOG, release()) is None
    known = CATALOG.libraries[0]
    assert library_set(CATALOG, release(pins=known.wheels)) is None
