"""What was built is told in one form, whichever engine built it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envbuilder.cli.output.built_images import built_document, print_built
from envbuilder.image.builder import BuildRun, BuiltImage, BuiltLayer, Delivered, Engine
from envbuilder.image.builds import BuildStep, LoadResult
from envbuilder.oci.transfers import PushResult
from tests.fakes.catalogs import good_lock
from tests.fakes.engine import digest_of, fake_image

LOCK = good_lock()
PUSH = PushResult(
    reference="localhost:5000/a:1", digest=digest_of("pushed"), pushed_bytes=10, pushed_layers=1, present_layers=2,
    seconds=0.5,
)  # fmt: skip
LOADED = LoadResult(image=fake_image("a"), sent_bytes=7, sent_layers=1, present_layers=3)
ASSEMBLED = BuiltImage(
    lock=LOCK,
    names=("a:1", "a:2"),
    id=digest_of("config"),
    manifest=digest_of("manifest"),
    size=3 << 20,
    layers=(
        BuiltLayer(title="base", size=1 << 20, id="base", digest=digest_of("1"), diff_id=digest_of("d1"), made=False),
        BuiltLayer(title="packages", size=2 << 20, id="packages", digest=digest_of("2"), diff_id="", made=True),
    ),
    run=BuildRun(steps=(BuildStep(name="packages", seconds=1.25, cached=False),), seconds=2.5, downloaded=400),
    delivered=Delivered(output=Path("image.tar"), loaded=LOADED, pushes=(PUSH,)),
    notes=("libodd.so is missing",),
)
RENDERED = BuiltImage(
    lock=LOCK,
    names=("b:1",),
    id=digest_of("b"),
    size=5 << 20,
    layers=(BuiltLayer(title="base", size=5 << 20),),
    run=BuildRun(steps=(), seconds=1.0, builder="buildkit"),
    delivered=Delivered(),
)
LOG = Path("build.log")


def keys(document: object) -> object:
    """Names of the fields of a document, with those of the first element of each list."""
    if isinstance(document, dict):
        return {name: keys(value) for name, value in document.items() if name not in {"loaded", "pushed", "steps"}}
    return [keys(document[0])] if isinstance(document, list) and document else None


def test_every_engine_has_the_same_fields() -> None:
    of_assemble = built_document(Engine.ASSEMBLE, [replace(ASSEMBLED, notes=())], LOG, ())
    of_docker = built_document(Engine.DOCKER, [RENDERED], LOG, ())
    assert keys(of_assemble) == keys(of_docker)
    assert (of_assemble["engine"], of_docker["engine"]) == ("assemble", "docker")


def test_what_an_engine_does_not_know_is_null() -> None:
    document: dict[str, Any] = built_document(Engine.DOCKER, [RENDERED], LOG, ())
    [image] = document["images"]
    assert (document["distinct_bytes"], document["downloaded_bytes"]) == (None, None)
    assert (image["manifest"], image["output"], image["loaded"], image["builder"]) == (None, None, None, "buildkit")
    assert image["layers"] == [
        {"id": None, "title": "base", "digest": None, "diff_id": None, "size": 5 << 20, "made": None}
    ]


def test_layers_and_runs_that_images_share_count_once() -> None:
    other = replace(ASSEMBLED, names=("c:1",), layers=(ASSEMBLED.layers[0],), size=1 << 20)
    document = built_document(Engine.ASSEMBLE, [ASSEMBLED, other], LOG, ())
    assert document["distinct_bytes"] == 3 << 20
    assert (document["seconds"], document["downloaded_bytes"]) == (2.5, 400)
    assert document["steps"] == [{"name": "packages", "seconds": 1.25, "cached": False}]


def test_the_text_names_layers_destinations_and_the_next_command(capsys: pytest.CaptureFixture[str]) -> None:
    print_built([ASSEMBLED])
    text = capsys.readouterr().out
    assert f"{LOCK.environment}: 3 MiB in 2 layers, 1 made now\n  {ASSEMBLED.manifest}\n  a:1\n  a:2\n" in text
    assert "wrote image.tar\nloaded into the engine: 7 B in 1 layers, 3 already present\n" in text
    assert f"pushed localhost:5000/a:1: 10 B in 1 layers, 2 already present; 0.5s\n  {PUSH.digest}\n" in text
    assert "note: libodd.so is missing\n" in text
    assert text.endswith(
        "2.5s, 400 B downloaded\nnext: `envbuilder validate a:1`; a shell inside: `envbuilder shell a:1`\n"
    )


def test_the_next_command_reads_an_image_that_is_in_the_registry_only(capsys: pytest.CaptureFixture[str]) -> None:
    print_built([replace(ASSEMBLED, is_here=False)])
    assert capsys.readouterr().out.endswith("next: `envbuilder validate --tier static a:1`\n")


def test_the_text_leaves_out_what_an_engine_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    print_built([RENDERED])
    text = capsys.readouterr().out
    assert "made" not in text
    assert f"{LOCK.environment}: 5 MiB in 1 layers\n  {RENDERED.id}\n  b:1\n" in text
    assert text.endswith("1.0s by buildkit\nnext: `envbuilder validate b:1`; a shell inside: `envbuilder shell b:1`\n")


def test_several_images_show_what_they_share_instead_of_their_layers(capsys: pytest.CaptureFixture[str]) -> None:
    other = replace(ASSEMBLED, names=("c:1",), layers=(ASSEMBLED.layers[0],), size=1 << 20)
    print_built([ASSEMBLED, other])
    text = capsys.readouterr().out
    assert "SIZE" not in text
    assert "2 images: 3 MiB in 2 distinct layers, 4 MiB if they shared none\n" in text
    print_built([RENDERED, RENDERED])
    assert "distinct" not in capsys.readouterr().out
