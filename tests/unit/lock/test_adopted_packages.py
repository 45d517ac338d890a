"""Packages of a project that do not go together are found and changed as little as possible."""

from __future__ import annotations

from envbuilder.core.errors import ResolutionFailed, TimeLimitReached
from envbuilder.lock.adopted_packages import PackageChange, Trials, resolvable
from envbuilder.lock.spec import Spec


class Index:
    """An index on which some requirements cannot be met, or take long from source; counts the resolutions."""

    def __init__(self, *impossible: str, source_only: tuple[str, ...] = (), slow: tuple[str, ...] = ()) -> None:
        self.impossible = frozenset(impossible)
        self.source_only = frozenset(source_only)
        self.slow = frozenset(slow)
        self.asked = 0
        self.now = 0.0

    def resolve(self, spec: Spec, *, seconds: float | None = None) -> None:
        self.asked += 1
        slow = self.slow.intersection(spec.source_builds)
        if slow and seconds is not None:
            self.now += seconds
            raise TimeLimitReached("no answer")
        needs_source = self.source_only - set(spec.source_builds)
        for package in spec.packages:
            if package in self.impossible or package.split("=")[0] in needs_source:
                raise ResolutionFailed(f"conflict:\n  No solution\n  Because {package} is nowhere, we can conclude it")


def tried(wanted: Spec, index: Index, limit: float = 100) -> tuple[Spec, tuple[PackageChange, ...]]:
    return resolvable(wanted, Trials(resolve=index.resolve, source_seconds=limit, clock=lambda: index.now))


def spec(*packages: str) -> Spec:
    return Spec(environment="tf-2.15-cpu", packages=packages)


def test_packages_that_go_together_are_resolved_once_and_unchanged() -> None:
    index = Index()
    assert tried(spec("a", "b==1"), index) == (spec("a", "b==1"), ())
    assert index.asked == 1


def test_a_pin_that_does_not_exist_becomes_any_version_and_the_reason_is_kept() -> None:
    found, [change] = tried(spec("a", "b[x]==1", "c", "d"), Index("b[x]==1"))
    assert found.packages == ("a", "b[x]", "c", "d")
    assert (change.before, change.after, change.reason) == ("b[x]==1", "b[x]", "b[x]==1 is nowhere")


def test_a_package_that_only_has_sources_is_built_from_them() -> None:
    found, [change] = tried(spec("a", "b==1"), Index(source_only=("b",)))
    assert (found.packages, found.source_builds) == (("a", "b==1"), ("b",))
    assert "built from source" in change.after


def test_a_build_that_fails_says_its_error_and_not_its_traceback() -> None:
    class Failing(Index):
        def resolve(self, spec: Spec, *, seconds: float | None = None) -> None:
            super().resolve(spec, seconds=seconds)
            if spec.source_builds:
                raise ResolutionFailed(
                    "conflict:\n error: Failed to build `b==1`\n  cause: The build backend returned an error\n"
                    '  File "<string>", line 2, in <module>\n'
                    "ModuleNotFoundError: No module named 'numpy'\n\n hint: `b@1` depends on `numpy`"
                )

    _, [change] = tried(spec("b==1"), Failing(source_only=("b",)))
    assert change.after == ""
    assert change.reason.endswith(
        "; from source: the build of b==1 fails: ModuleNotFoundError: No module named 'numpy' "
        "(list `numpy` under `build_requires` to build it)"
    )


def test_a_damaged_file_says_what_is_wrong_with_it() -> None:
    class Damaged(Index):
        def resolve(self, spec: Spec, *, seconds: float | None = None) -> None:
            super().resolve(spec, seconds=seconds)
            if spec.source_builds:
                raise ResolutionFailed(
                    "the packages cannot be resolved:\nerror: Failed to download and build `b==1`\n"
                    "  cause: Failed to extract archive: b==1\n  cause: Invalid tar file\n  cause: invalid tar checksum"
                )

    _, [change] = tried(spec("b==1"), Damaged(source_only=("b",)))
    assert change.reason.endswith("; from source: the file of b==1 cannot be read: invalid tar checksum")


def test_a_package_that_is_nowhere_is_left_out() -> None:
    found, [change] = tried(spec("a", "b==1"), Index("b==1", "b"))
    assert (found.packages, change.after) == (("a",), "")


def test_many_bad_packages_that_the_resolver_names_need_few_resolutions_each() -> None:
    bad = [f"p{number}==1" for number in range(0, 40, 5)]
    index = Index(*bad)
    found, changes = tried(spec(*(f"p{number}==1" for number in range(40))), index)
    assert len(found.packages) == 40
    assert sorted(change.before for change in changes) == sorted(bad)
    assert index.asked <= 4 * len(bad)


def test_sources_that_take_too_long_are_left_out_and_no_others_are_tried_afterwards() -> None:
    index = Index(source_only=("b", "c"), slow=("c",))
    found, changes = tried(spec("a", "b==1", "c==1"), index)
    assert found == spec("a")
    assert [change.after for change in changes] == ["", ""]
    for change in changes:
        assert change.reason.endswith("; from source: not checked within 100 seconds (--source-limit)")
    assert index.now == 100


def test_a_few_bad_packages_among_many_need_few_resolutions() -> None:
    index = Index("p31==1")
    found, changes = tried(spec(*(f"p{number}==1" for number in range(40))), index)
    assert len(found.packages) == 40
    assert len(changes) == 1
    assert index.asked < 20


def test_a_project_without_packages_is_not_resolved() -> None:
    index = Index()
    assert tried(spec(), index) == (spec(), ())
    assert index.asked == 0
