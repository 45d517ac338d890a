"""Lists of packages are read only where somebody asks."""

from __future__ import annotations

import pytest

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.base.deb.packages import PackageIndex, Relationship, clauses


def paragraph(name: str, version: str = "1.0", **fields: str) -> str:
    given = {
        "Package": name, "Version": version, "Architecture": "amd64", "Filename": f"pool/{name}_{version}.deb",
        "Size": "5", "SHA256": f"{len(name):064x}",
    }  # fmt: skip
    return "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in (given | fields).items())


def index(*paragraphs: str, prefix: str = "") -> PackageIndex:
    return PackageIndex([("\n".join(paragraphs).encode(), prefix)])


def test_a_package_has_what_its_paragraph_says() -> None:
    found = index(
        paragraph(
            "toy", "2:1.0-1", Pre_Depends="libc6 (>= 2.36)", Depends="a | b (<< 3) , c:any", Provides="play (= 2)",
            Conflicts="old", Breaks="older (<< 1)", Priority="required", Description="short\n Depends: not a field",
        ),
    ).find("toy")  # fmt: skip
    assert found is not None
    assert (found.name, found.version, found.priority) == ("toy", "2:1.0-1", "required")
    assert [[str(each) for each in clause] for clause in found.depends] == [
        ["libc6 (>= 2.36)"], ["a", "b (<< 3)"], ["c"],
    ]  # fmt: skip
    assert found.provides == (Relationship(name="play", relation="=", version="2"),)
    assert [str(each) for each in found.conflicts] == ["old", "older (<< 1)"]
    assert (found.file, found.size, found.sha256) == ("pool/toy_2:1.0-1.deb", 5, f"{3:064x}")


def test_of_several_lists_the_newest_version_counts_with_its_prefix() -> None:
    old = paragraph("toy", "1.0-1+deb12u9").encode()
    new = paragraph("toy", "1.0-1+deb12u10").encode()
    for lists in ([(old, ""), (new, "security:")], [(new, "security:"), (old, "")]):
        found = PackageIndex(lists).find("toy")
        assert found is not None
        assert found.file == "security:pool/toy_1.0-1+deb12u10.deb"


def test_names_that_begin_alike_are_not_mixed_up() -> None:
    packages = index(paragraph("lib"), paragraph("lib-extra", "2.0"), paragraph("libx", "3.0"))
    versions = {name: found.version for name in ("lib", "lib-extra", "libx") if (found := packages.find(name))}
    assert versions == {"lib": "1.0", "lib-extra": "2.0", "libx": "3.0"}
    assert packages.find("li") is None
    assert packages.find("Package") is None


def test_providers_come_in_order_of_priority_then_name() -> None:
    packages = index(
        paragraph("zzz", Provides="awk", Priority="required"),
        paragraph("longer-name", Provides="awk, other"),
        paragraph("aa", Provides="awk (= 1)"),
        paragraph("unlike", Provides="awkward"),
    )
    assert [package.name for package in packages.providers("awk")] == ["zzz", "aa", "longer-name"]
    assert packages.providers("nothing") == ()


def test_an_old_version_that_provided_something_does_not_count() -> None:
    packages = index(paragraph("toy", "1.0", Provides="play"), paragraph("toy", "2.0"))
    assert packages.providers("play") == ()


def test_essential_packages_are_named_once() -> None:
    packages = index(
        paragraph("b", Essential="yes"), paragraph("a", Essential="yes"), paragraph("c", Essential="no"),
        paragraph("a", "2.0", Essential="yes"),
    )  # fmt: skip
    assert packages.essential == ("a", "b")


def test_what_is_no_clause_is_left_out() -> None:
    assert clauses("") == ()
    assert clauses("a, , ${misc:Depends}") == ((Relationship(name="a"),),)
    assert clauses("a [amd64]") == ((Relationship(name="a"),),)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("SHA256", "/etc/passwd"),
        ("SHA256", "../" * 21 + "a"),
        ("SHA256", "A" * 64),
        ("Size", "-60"),
        ("Size", "1e3"),
        ("Size", "9" * 5000),
        ("Size", "²"),
        ("Filename", "../../etc/passwd.deb"),
        ("Filename", "/etc/passwd.deb"),
        ("Filename", "pool/./toy.deb"),
        ("Filename", "pool//toy.deb"),
        ("Filename", "pool/toy.deb?x=1.deb"),
        ("Filename", "pool/toy"),
        ("Filename", "pool/" + "x" * 2000 + ".deb"),
        ("Version", "-1"),
        ("Version", "1 --index-url"),
        ("Version", "9" * 5000 + ":1"),
        ("Version", ""),
    ],
)
def test_a_field_that_debian_does_not_allow_is_refused_with_the_package(field: str, value: str) -> None:
    with pytest.raises(VerificationFailed, match=f"has a package 'toy' whose {field} is") as caught:
        index(paragraph("toy", **{field: value})).find("toy")
    assert len(caught.value.message) < 200


@pytest.mark.parametrize("name", ["-oapt", "Toy", "../toy", "toy:amd64", "x" * 2000])
def test_a_name_that_debian_does_not_allow_is_refused(name: str) -> None:
    with pytest.raises(VerificationFailed, match="whose Package is"):
        index(paragraph(name)).find(name)


def test_bytes_that_are_no_text_are_no_package() -> None:
    packages = PackageIndex([(paragraph("toy").encode() + b"\nPackage: t\xff\nProvides: \xff\n", "")])
    assert packages.find("toy")
    assert packages.providers("\ufffd") == ()
    assert packages.essential == ()


def test_a_field_in_front_of_the_first_package_is_refused() -> None:
    packages = PackageIndex([(b"Package: t\xff\nProvides: x\n\n" + paragraph("toy").encode(), "")])
    with pytest.raises(VerificationFailed, match="before its first package"):
        packages.providers("x")
