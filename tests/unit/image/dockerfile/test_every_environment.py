"""What holds for the rendered files of every environment on every base; `tests/golden/images` shows five of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest

from envbuilder.image.dockerfile.build_context import Rendered, requirements
from envbuilder.image.dockerfile.step_names import step_title
from envbuilder.image.plan.layers import plan
from envbuilder.image.plan.plan import LayerKind, Plan
from envbuilder.image.render import rendered
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest, dump, load
from envbuilder.lock.spec import Spec
from tests.fakes.catalogs import TEMPLATES, real_catalog, real_row
from tests.golden.products import TEAM, made

ENVIRONMENTS = [row.id for row in real_catalog().environments]
INSTRUCTIONS = {
    "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "RUN", "USER", "WORKDIR",
}  # fmt: skip
PAIR = re.compile(r'^(?:ENV|LABEL|) *([\w.]+)="((?:[^"\\]|\\.)*)"(?: \\)?$', re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    lock: Lock
    plan: Plan
    files: Rendered

    @property
    def texts(self) -> dict[str, str]:
        return {file.path: file.text for file in self.files.texts}

    @property
    def dockerfiles(self) -> list[str]:
        return [text for path, text in self.texts.items() if path.startswith("Dockerfile")]


@cache
def images_of(environment: str) -> tuple[Image, ...]:
    """The images of an environment on each of its bases, and that of a team for its own environment."""
    specs = [Spec(environment=environment, base=choice.system.id) for choice in real_row(environment).bases]
    locks = [made(spec) for spec in (*specs, *([TEAM] if environment == TEAM.environment else []))]
    return tuple(Image(lock=lock, plan=plan(lock, digest(lock)), files=rendered(lock, TEMPLATES)) for lock in locks)


@pytest.fixture(params=ENVIRONMENTS)
def images(request: pytest.FixtureRequest) -> tuple[Image, ...]:
    return images_of(request.param)


def logical_lines(dockerfile: str) -> Iterator[str]:
    """Instructions as the builder reads them: without comments, continued lines joined."""
    kept = "".join(f"{line}\n" for line in dockerfile.splitlines() if not line.startswith("#"))
    return (line for line in kept.replace("\\\n", " ").splitlines() if line.strip())


def test_the_files_follow_from_the_text_of_the_lock(images: tuple[Image, ...]) -> None:
    for image in images:
        assert rendered(load(dump(image.lock), "envbuilder.lock"), TEMPLATES) == image.files


def test_each_package_is_installed_by_one_file(images: tuple[Image, ...]) -> None:
    for image in images:
        installed = [path for path in image.texts if path.startswith("layers/") and "/download" not in path]
        lines = Counter(line for path in installed for line in image.texts[path].splitlines() if "==" in line)
        assert lines == Counter(requirements(image.lock.packages).splitlines())


def test_wheels_and_nothing_else_are_fetched_beforehand(images: tuple[Image, ...]) -> None:
    for image in images:
        fetched = [text for path, text in image.texts.items() if path.startswith("layers/download")]
        shared = image.plan.of(LayerKind.CUDA, LayerKind.FRAMEWORK, LayerKind.PACKAGES)
        pins = [pin for layer in shared for pin in layer.packages if pin.is_wheel]
        assert sorted("".join(fetched).splitlines()) == sorted(requirements(pins).splitlines())


def test_the_layers_of_the_plan_stand_in_the_dockerfile_in_their_order(images: tuple[Image, ...]) -> None:
    for image in images:
        unpacked = {LayerKind.BASE, *([LayerKind.SYSTEM] if image.lock.unpacks_os_packages else [])}
        # One step compiles everything; bytecode of a distribution begins with the same words.
        titles = [
            "bytecode of " if layer.kind is LayerKind.BYTECODE else layer.title
            for layer in image.plan.layers
            if layer.kind not in unpacked
        ]
        comments = re.findall("^# (.*)$", image.texts["Dockerfile"], re.MULTILINE)
        found = [title for comment in comments for title in titles if comment.startswith(title)]
        assert list(dict.fromkeys(found)) == list(dict.fromkeys(titles))


def test_every_file_of_a_layer_is_used_and_there(images: tuple[Image, ...]) -> None:
    for image in images:
        named = set(re.findall(r"source=(layers/[^,\s]+)", image.texts["Dockerfile"]))
        assert named == {path for path in image.texts if path.startswith("layers/")}


def test_variables_and_labels_read_back(images: tuple[Image, ...]) -> None:
    for image in images:
        for dockerfile in image.dockerfiles:
            pairs = [(name, re.sub(r"\\(.)", r"\1", value)) for name, value in PAIR.findall(dockerfile)]
            assert pairs == [*image.plan.env, *image.plan.labels]


def test_nothing_in_a_dockerfile_is_another_instruction(images: tuple[Image, ...]) -> None:
    for image in images:
        for dockerfile in image.dockerfiles:
            assert {line.split()[0] for line in logical_lines(dockerfile)} <= INSTRUCTIONS


def test_every_deviation_is_said_once(images: tuple[Image, ...]) -> None:
    for image in images:
        said = [line for line in image.texts["Dockerfile"].splitlines() if line.startswith("# deviation: ")]
        assert said == [f"# deviation: {each}" for each in image.lock.deviations]


def test_every_step_has_a_title_of_its_own(images: tuple[Image, ...]) -> None:
    for image in images:
        for dockerfile in image.dockerfiles:
            steps = [line for line in logical_lines(dockerfile) if line.startswith(("RUN ", "COPY "))]
            assert steps
            assert not [step for step in steps if "/" in step_title(step)]
