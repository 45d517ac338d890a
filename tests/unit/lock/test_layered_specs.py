"""A spec extends others: lists are added, mappings are merged, scalars replace."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.load.team_catalogs import load_with_teams
from envbuilder.catalog.references import CatalogPlace, DirectoryReference
from envbuilder.core.errors import InvalidInput
from envbuilder.lock.layered_specs import named_catalogs, origins, spec_layers
from envbuilder.lock.spec import Spec
from envbuilder.lock.targets import load_spec
from tests.fakes.catalogs import DATA, small_catalog
from tests.fakes.teams import put, team_catalog

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project" / "envbuilder.yaml"


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    folder = team_catalog(tmp_path / "team")
    put(folder / "specs" / "gpu.yaml", 'extends: "parts/common.yaml"\npackages: ["pandas"]\n')
    put(folder / "specs" / "parts" / "common.yaml", 'environment: "tf-2.15-cpu"\nenv: {A: "1"}\n')
    return load_with_teams(DATA / "catalog", (CatalogPlace(folder=folder),))


def loaded(spec: Path, text: str, base: str = "", catalog: Catalog | None = None) -> Spec:
    if base:
        put(spec.parent / "base.yaml", base)
    return load_spec(put(spec, text), catalog or small_catalog())


def told(spec: Path, text: str, base: str = "", catalog: Catalog | None = None) -> str:
    with pytest.raises(InvalidInput) as caught:
        loaded(spec, text, base, catalog)
    return caught.value.message.replace(f"{spec.parent}/", "")


def test_lists_are_added_mappings_are_merged_and_scalars_replace(spec: Path) -> None:
    base = (
        'environment: "tf-2.4-cuda11.0"\npackages: ["six", "pandas"]\napt: ["libgl1"]\nmemory: "growth"\n'
        'env: {A: "1", B: "1"}\nuser: {name: "trainer", uid: 2000}\nsources: {index: "https://one.example/", '
        'debian_mirror: ["https://a.example"]}\n'
    )
    own = (
        'extends: "base.yaml"\nenvironment: "tf-2.15-cpu"\npackages: ["pillow"]\napt: ["git"]\nmemory: "all"\n'
        'env: {B: "2", C: "2"}\nuser: {gid: 3000}\nsources: {debian_mirror: "https://b.example"}\n'
    )
    found = loaded(spec, own, base)
    assert found.environment == "tf-2.15-cpu"
    assert found.packages == ("pandas", "pillow", "six")
    assert found.apt == ("git", "libgl1")
    assert found.env == (("A", "1"), ("B", "2"), ("C", "2"))
    assert (found.user.name, found.user.uid, found.user.gid) == ("trainer", 2000, 3000)
    assert (found.sources.index, found.sources.debian_mirrors) == ("https://one.example/", ("https://b.example",))
    assert str(found.memory) == "all"


def test_settings_of_containers_are_merged_by_their_kind(spec: Path) -> None:
    base = 'environment: "tf-2.15-cpu"\ncommand: ["a", "b"]\nports: [80]\nlabels: {a: "1", b: "1"}\n'
    found = loaded(spec, 'extends: "base.yaml"\ncommand: ["c"]\nports: [90]\nlabels: {b: "2"}\n', base).settings
    assert found.command == ("c",)
    assert len(found.ports) == 2
    assert found.labels == (("a", "1"), ("b", "2"))


def test_an_entry_point_removes_the_command_of_the_extended_spec_as_in_a_dockerfile(spec: Path) -> None:
    base = 'environment: "tf-2.15-cpu"\nentrypoint: ["a"]\ncommand: ["b"]\n'
    found = loaded(spec, 'extends: "base.yaml"\nentrypoint: ["c"]\n', base).settings
    assert (found.entrypoint, found.command) == (("c",), None)
    both = loaded(spec, 'extends: "base.yaml"\nentrypoint: ["c"]\ncommand: ["d"]\n', base).settings
    assert (both.entrypoint, both.command) == (("c",), ("d",))
    kept = loaded(spec, 'extends: "base.yaml"\ncommand: ["d"]\n', base).settings
    assert (kept.entrypoint, kept.command) == (("a",), ("d",))


def test_a_requirement_replaces_that_of_the_same_package(spec: Path) -> None:
    base = 'environment: "tf-2.15-cpu"\npackages: ["Six==1.15", "pandas"]\napt: ["libgl1=1.0"]\n'
    found = loaded(spec, 'extends: "base.yaml"\npackages: ["six>=1.16"]\napt: ["libgl1"]\n', base)
    assert found.packages == ("pandas", "six>=1.16")
    assert found.apt == ("libgl1",)


def test_without_an_extended_spec_nothing_changes(spec: Path) -> None:
    assert loaded(spec, 'environment: "tf-2.15-cpu"\n') == Spec(environment="tf-2.15-cpu")


def test_each_fault_names_its_own_file_and_line(spec: Path) -> None:
    own = 'extends: "base.yaml"\npackges: []\n'
    assert "envbuilder.yaml:2: packges: is not a known field" in told(spec, own, 'environment: "x"\n')
    assert "base.yaml:2: apt: must be a list" in told(spec, 'extends: "base.yaml"\n', 'environment: "x"\napt: "git"\n')


def test_a_fault_of_the_merged_spec_names_all_its_files(spec: Path) -> None:
    message = told(spec, 'extends: "base.yaml"\n', 'apt: ["git"]\n')
    assert "envbuilder.yaml:1: environment: is missing (together with" in message
    assert "base.yaml)" in message


@pytest.mark.parametrize(
    ("extends", "problem"),
    [
        ("other.yaml", "file not found"),
        ("../outside.yaml", "is outside the project"),
        ("/etc/hostname", "is outside the project"),
        ("link.yaml", "is outside the project"),
        ("envbuilder.yaml", "extends this spec in turn"),
        ("nobody:base", "there is no catalog 'nobody' (name it below `catalogs:`"),
    ],
)
def test_what_cannot_be_extended_is_told(spec: Path, extends: str, problem: str) -> None:
    put(spec.parent.parent / "outside.yaml", 'environment: "tf-2.15-cpu"\n')
    (spec.parent / "link.yaml").symlink_to(spec.parent.parent / "outside.yaml")
    message = told(spec, f'environment: "tf-2.15-cpu"\nextends: "{extends}"\n')
    assert "envbuilder.yaml:2: extends:" in message
    assert problem in message


def test_a_circle_and_a_long_chain_are_refused(spec: Path) -> None:
    put(spec.parent / "b.yaml", 'extends: "envbuilder.yaml"\n')
    assert "b.yaml:1: extends:" in told(spec, 'extends: "b.yaml"\n')
    for number in range(9):
        put(spec.parent / f"s{number}.yaml", f'extends: "s{number + 1}.yaml"\n')
    assert "s7.yaml:1: extends: more than 8 specs extend each other" in told(
        spec.parent / "s0.yaml", 'extends: "s1.yaml"\n'
    )


def test_a_spec_of_a_subdirectory_extends_one_above_it_in_the_same_checkout(spec: Path) -> None:
    put(spec.parent / "team.yaml", 'environment: "tf-2.15-cpu"\nfiles: {"/app/a": "a.txt"}\n')
    put(spec.parent / "a.txt", "a")
    found = loaded(spec.parent / "training" / "envbuilder.yaml", 'extends: "../team.yaml"\n')
    assert [(file.path, Path(file.source).read_text()) for file in found.files] == [("/app/a", "a")]


def test_files_are_relative_to_the_file_that_names_them_and_replace_those_of_the_same_path(spec: Path) -> None:
    for name, text in (("parts/conf/a", "base"), ("parts/conf/b", "base"), ("own/a", "own"), ("parts/x", "base")):
        put(spec.parent / name, text)
    base = 'environment: "tf-2.15-cpu"\nfiles: {"/app": "conf", "/x": "x"}\n'
    put(spec.parent / "parts" / "base.yaml", base)
    found = loaded(spec, 'extends: "parts/base.yaml"\nfiles: {"/app/a": "own/a", "/x": "own"}\n')
    assert [(file.path, Path(file.source).read_text()) for file in found.files] == [
        ("/app/a", "own"),
        ("/app/b", "base"),
        ("/x/a", "own"),
    ]


def test_a_file_and_a_directory_of_one_path_are_refused(spec: Path) -> None:
    put(spec.parent / "a", "a")
    base = 'environment: "tf-2.15-cpu"\nfiles: {"/app": "a"}\n'
    message = told(spec, 'extends: "base.yaml"\nfiles: {"/app/a": "a"}\n', base)
    assert "base.yaml:2: files: /app is a directory of other files" in message


def test_local_paths_are_relative_to_the_file_that_names_them(spec: Path) -> None:
    put(
        spec.parent / "parts" / "base.yaml",
        'environment: "tf-2.15-cpu"\nsources: {python_archives: ["a.tar.gz"], publishers: {"*": "usb"}}\n',
    )
    found = loaded(spec, 'extends: "parts/base.yaml"\nsources: {python_archives: ["b.tar.gz"]}\n')
    assert found.sources.python_archives == (
        str(spec.parent / "parts" / "a.tar.gz"),
        str(spec.parent / "b.tar.gz"),
    )
    assert found.sources.publishers == (("*", str(spec.parent / "parts" / "usb")),)


def test_a_spec_of_a_catalog_is_extended_by_its_name(spec: Path, catalog: Catalog) -> None:
    text = 'extends: "vision:gpu"\nenv: {B: "2"}\n'
    found = loaded(spec, text, catalog=catalog)
    assert (found.environment, found.packages, found.env) == ("tf-2.15-cpu", ("pandas",), (("A", "1"), ("B", "2")))
    titles = [layer.title for layer in spec_layers(spec, catalog.teams)]
    assert titles == ["vision:parts/common", "vision:gpu", str(spec)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('catalogs: ["x"]\n', "gpu.yaml:1: catalogs: must be in the spec of a project"),
        ('extends: "../catalog.yaml"\n', "gpu.yaml:1: extends: '../catalog.yaml' is outside the directory specs/"),
        ('extends: "other:gpu"\n', "gpu.yaml:1: extends: must be a file of the directory specs/"),
        ('extends: "gpu.yaml"\n', "gpu.yaml:1: extends:"),
    ],
)
def test_a_spec_of_a_catalog_stays_in_it(spec: Path, catalog: Catalog, text: str, problem: str) -> None:
    put(catalog.teams[0].place.folder / "specs" / "gpu.yaml", text)
    assert problem in told(spec, 'extends: "vision:gpu"\n', catalog=catalog)


def test_the_catalogs_of_a_project_are_added_from_the_most_general_spec_on(spec: Path) -> None:
    put(spec.parent / "parts" / "base.yaml", 'catalogs: ["../catalog"]\n')
    put(spec, f'extends: "parts/base.yaml"\ncatalogs: ["git+https://git.example/x@{COMMIT}", "catalog"]\n')
    first, second = named_catalogs(spec)
    assert first == DirectoryReference(path=str(spec.parent / "catalog"))
    assert str(second) == f"git+https://git.example/x@{COMMIT}"


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("/srv/catalog", "catalogs: '/srv/catalog' is outside the project"),
        ("../catalog", "catalogs: '../catalog' is outside the project"),
        ("git+https://git.example/x@main", "catalogs[0]: must end"),
    ],
)
def test_a_catalog_that_is_not_the_same_everywhere_is_refused(spec: Path, entry: str, problem: str) -> None:
    put(spec, f'environment: "x"\ncatalogs:\n  - "{entry}"\n')
    with pytest.raises(InvalidInput) as caught:
        named_catalogs(spec)
    assert problem in caught.value.message
    assert f"{spec}:" in caught.value.message


def test_each_value_has_the_file_and_line_that_it_comes_from(spec: Path) -> None:
    put(
        spec.parent / "base.yaml",
        'environment: "tf-2.15-cpu"\npackages:\n  - "six"\n  - "pandas<2"\nenv:\n  A: "1"\n  B: "1"\n'
        'memory:\n  limit: "4GiB"\n',
    )
    put(spec, 'extends: "base.yaml"\npackages:\n  - "pandas"\nenv:\n  B: "2"\n')
    found = {(each.field, each.value): f"{Path(each.file).name}:{each.line}" for each in origins(spec_layers(spec, ()))}
    assert found == {
        ("environment", "tf-2.15-cpu"): "base.yaml:1",
        ("packages", "six"): "base.yaml:3",
        ("packages", "pandas"): "envbuilder.yaml:3",
        ("env.A", "1"): "base.yaml:6",
        ("env.B", "2"): "envbuilder.yaml:5",
        ("memory.limit", "4GiB"): "base.yaml:9",
    }
