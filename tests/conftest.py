"""What all tests share: golden files, and the option that rewrites them."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

GOLDEN = Path(__file__).parent / "golden"
_OPTION = "--update-golden"
_LONGEST_ID = 100

# A machine that is busy with something else is no reason to fail, and neither are examples that were not tried before.
_FIXED = settings(deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("house", _FIXED, max_examples=20)
# For `make test`, which CI runs.
settings.register_profile("thorough", _FIXED, max_examples=50)
# For another Python after a whole run: the point is the interpreter, not the examples.
settings.register_profile("brief", _FIXED, max_examples=5)
# For `make properties` and `make fuzz`: other examples each time, so chance also decides on health checks.
EXPLORE = "explore"
settings.register_profile(
    EXPLORE, deadline=None, derandomize=False, print_blob=True, suppress_health_check=list(HealthCheck)
)
settings.load_profile("house")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        _OPTION, action="store_true", help="Write golden files instead of comparing them; review the diff."
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption(_OPTION) and os.environ.get("CI"):
        raise pytest.UsageError(f"{_OPTION} is refused in CI: golden files are reviewed by a person")
    if config.getoption("--hypothesis-profile") != EXPLORE:
        # Hypothesis draws some examples from the source of the modules imported so far. Which those are depends on the
        # tests that ran before on the same worker, and on the path of the checkout: a seed alone fixes no examples.
        providers._get_local_constants = Constants
    # Some runners of CI have a umask of 0: a cache that a test makes would be writable by others, and be refused.
    os.umask(0o022)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Keep ids short: pytest passes the running test's id on in the environment, where Linux allows 128 KiB."""
    if isinstance(val, str | bytes) and len(val) > _LONGEST_ID:
        return f"{argname}-of-{len(val)}"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of a file on one worker, where groups are distributed, unless they name a group.

    The first of all: pytest-xdist adds the names of groups to node ids in a hook of its own. In a worker, `dist` is
    `no`, and `loadgroup` says how the controller distributes.
    """
    if getattr(config.option, "loadgroup", False):
        for item in items:
            if not item.get_closest_marker("xdist_group"):
                item.add_marker(pytest.mark.xdist_group(item.location[0]))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse to distribute tests by groups if pytest-xdist has not put the groups into the node ids."""
    # Modules and tests live to the end: looking for garbage among them again and again took a tenth of a run.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)
    if getattr(session.config.option, "loadgroup", False) and not all("@" in item.nodeid for item in session.items):
        raise pytest.UsageError("--dist loadgroup ignores groups here: this pytest and pytest-xdist do not fit")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption(_OPTION))


@pytest.fixture
def golden(update_golden: bool) -> Callable[[str, str], None]:
    """Compare a text with the golden file of this path below tests/golden."""

    def compare(path: str, text: str) -> None:
        file = GOLDEN / path
        if update_golden:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.is_file(), f"{path} is new: pytest tests/golden {_OPTION}, then review it"
        assert text == file.read_text(encoding="utf-8")

    return compare
