"""What some packages need is always the same answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.errors import ResolutionFailed
from envbuilder.image.base.deb.resolver import MINIMAL, base_packages, resolve
from envbuilder.lock.lock import OsPackagePin
from tests.unit.image.base.deb.test_packages import index, paragraph

SUITE = (
    paragraph("app", Depends="lib (>= 1.0), awk, shell | other-shell"),
    paragraph("lib", "1.2", Pre_Depends="base"),
    paragraph("base"),
    paragraph("shell"),
    paragraph("other-shell"),
    paragraph("mawk", Provides="awk", Priority="required"),
    paragraph("gawk", Provides="awk"),
)


def names(*wanted: str, have: tuple[OsPackagePin, ...] = ()) -> list[str]:
    return [pin.name for pin in resolve(index(*SUITE), wanted, have=have)]


def test_everything_that_is_needed_is_there_sorted() -> None:
    assert names("app") == ["app", "base", "lib", "mawk", "shell"]


def test_a_pin_says_where_its_file_is() -> None:
    [pin] = resolve(index(*SUITE), ["base"])
    assert pin == OsPackagePin(
        name="base", version="1.0", sha256=f"{4:064x}", file="pool/base_1.0.deb", size=5
    )  # fmt: skip


def test_what_is_there_already_is_not_in_the_answer() -> None:
    have = (OsPackagePin(name="lib", version="1.1"), OsPackagePin(name="other-shell", version="1.0"))
    assert names("app", have=have) == ["app", "mawk"]


def test_what_is_there_is_never_moved() -> None:
    with pytest.raises(ResolutionFailed, match=r"lib \(>= 1\.0\), which app needs") as caught:
        names("app", have=(OsPackagePin(name="lib", version="0.9"),))
    assert "apt:" in caught.value.hint


def test_an_alternative_that_was_asked_for_is_taken() -> None:
    assert "shell" not in names("app", "other-shell")


def test_a_version_can_be_asked_for() -> None:
    assert names("lib=1.2") == ["base", "lib"]
    with pytest.raises(ResolutionFailed, match=r"lib \(= 1\.0\), which what was asked for needs"):
        names("lib=1.0")


def test_a_provision_without_version_does_not_meet_a_bound() -> None:
    user = paragraph("user", Depends="play (>= 2)")
    with pytest.raises(ResolutionFailed, match="play"):
        resolve(index(user, paragraph("toy", Provides="play")), ["user"])
    with pytest.raises(ResolutionFailed, match="play"):
        resolve(index(user, paragraph("toy", Provides="play (= 1)")), ["user"])
    [toy, _] = resolve(index(user, paragraph("toy", Provides="play (= 2)")), ["user"])
    assert toy.name == "toy"


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ResolutionFailed, match="no package is available for nothing"):
        names("nothing")


def test_packages_that_do_not_go_together_are_refused() -> None:
    suite = index(paragraph("one", Conflicts="two (<< 3)"), paragraph("two", "2.0"))
    with pytest.raises(ResolutionFailed, match=r"one 1\.0 conflicts with two 2\.0"):
        resolve(suite, ["one", "two"])
    with pytest.raises(ResolutionFailed, match="conflicts with"):
        resolve(suite, ["one"], have=[OsPackagePin(name="two", version="2.9")])
    assert resolve(suite, ["one"], have=[OsPackagePin(name="two", version="3.0")])


def test_a_circle_comes_to_an_end() -> None:
    found = resolve(index(paragraph("aa", Depends="bb"), paragraph("bb", Depends="aa")), ["aa"])
    assert [pin.name for pin in found] == ["aa", "bb"]


def test_a_base_has_the_essential_packages_and_apt() -> None:
    suite = index(paragraph("dash", Essential="yes"), *(paragraph(name) for name in MINIMAL), paragraph("extra"))
    assert [pin.name for pin in base_packages(suite, [])] == sorted(["dash", *MINIMAL])
    assert "extra" in {pin.name for pin in base_packages(suite, ["extra"])}


@given(st.permutations(SUITE), st.permutations(["app", "gawk", "other-shell"]))
def test_neither_the_order_of_the_list_nor_of_the_wishes_matters(suite: list[str], wanted: list[str]) -> None:
    assert resolve(index(*suite), wanted) == resolve(index(*SUITE), ["app", "gawk", "other-shell"])
