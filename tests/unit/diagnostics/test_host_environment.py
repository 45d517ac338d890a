"""Everything is asked at once; what is silent costs its limit, and no more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from envbuilder.core.errors import EngineUnavailable, ToolMissing
from envbuilder.diagnostics.host.environment import EngineAnswers, EngineSilent, Silence, SourceKind
from envbuilder.diagnostics.host_environment import (
    Address,
    HostEnvironmentPorts,
    Pending,
    masked_proxy,
    start_host_environment,
)
from envbuilder.image.builds import EngineInfo
from tests.fakes.engine import FAKE_INFO

SECRET = "https://me:secret@mirror.example:8443/simple"


@dataclass(frozen=True)
class FakeHost:
    """The `HostServices` and `SourceAccess` of a sound machine, but for what a test gives."""

    engine: Callable[[], EngineInfo] = lambda: replace(FAKE_INFO, root="/")
    sandbox: Callable[[], str] = lambda: "runc 1.1.5"
    has_toolkit: Callable[[], bool] = lambda: False
    address: Callable[[SourceKind, EngineInfo | None], Address | None] = lambda _, __: Address(
        url=SECRET, chosen="UV_DEFAULT_INDEX", configured=True
    )
    ask: Callable[[str, float], int | Silence | None] = lambda _, __: 200
    is_proxied: Callable[[str], bool] = lambda _: False


def environment(clock: Callable[[], float] = time.monotonic, **changes: object) -> HostEnvironmentPorts:
    host = FakeHost(**changes)  # type: ignore[arg-type]
    return HostEnvironmentPorts(services=host, sources=host, ca_bundles=(), proxies=(), clock=clock)


def raising(error: Exception) -> Callable[[], object]:
    def work() -> object:
        raise error

    return work


def test_what_answers_is_told_without_the_login_in_its_address() -> None:
    seen = start_host_environment(environment())()

    assert isinstance(seen.engine, EngineAnswers)
    assert (seen.engine.version, seen.sandbox) == (FAKE_INFO.version, "runc 1.1.5")
    assert seen.engine.root_free is not None
    assert [(each.kind, each.host, each.status, each.silence) for each in seen.sources] == [
        (kind, "mirror.example:8443", 200, None) for kind in SourceKind
    ]
    assert "secret" not in repr(seen)


def test_free_space_that_cannot_be_seen_is_not_a_number() -> None:
    seen = start_host_environment(environment(engine=lambda: replace(FAKE_INFO, root="/nonexistent")))()
    assert isinstance(seen.engine, EngineAnswers)
    assert seen.engine.root_free is None


def test_the_host_of_a_default_is_not_told() -> None:
    default = Address(url="https://somewhere.example/simple", chosen="uv's default", configured=False)
    seen = start_host_environment(environment(address=lambda _, __: default))()
    assert {each.host for each in seen.sources} == {""}
    assert "somewhere" not in repr(seen)


def test_sources_and_engine_that_never_answer_cost_the_limit_once() -> None:
    ended = threading.Event()
    times = iter([0.0])

    def never(*_: object) -> object:
        ended.wait()
        raise EngineUnavailable("ended")

    # After the start this clock says that the limit is over: whoever waits for a limit of its own waits for ever.
    around = environment(engine=never, sandbox=never, ask=never, clock=lambda: next(times, float("inf")))
    try:
        seen = start_host_environment(around, limit=threading.TIMEOUT_MAX / 2)()
    finally:
        ended.set()

    assert [each.silence for each in seen.sources] == [Silence.TIME] * len(SourceKind)
    assert isinstance(seen.engine, EngineSilent)
    assert (seen.sandbox, seen.why_no_sandbox) == ("", "")


def test_a_source_that_is_late_is_named_all_the_same() -> None:
    asked, ended = threading.Semaphore(0), threading.Event()
    now = [0.0]

    def never(_url: str, _limit: float) -> Silence:
        asked.release()
        ended.wait()
        return Silence.TIME

    around = environment(ask=never, clock=lambda: now[0])
    result = start_host_environment(around, limit=threading.TIMEOUT_MAX / 2)
    for _ in SourceKind:
        asked.acquire()
    now[0] = float("inf")
    try:
        seen = result()
    finally:
        ended.set()
    assert [(each.host, each.chosen, each.silence) for each in seen.sources] == [
        ("mirror.example:8443", "UV_DEFAULT_INDEX", Silence.TIME)
    ] * len(SourceKind)


def test_why_there_is_no_engine_and_no_sandbox_is_told() -> None:
    denied = EngineUnavailable("no container engine answers: Permission denied", hint="join the group")
    nothing = ToolMissing("nothing can run a command\n  namespaces: refused")
    seen = start_host_environment(environment(engine=raising(denied), sandbox=raising(nothing)))()

    assert seen.engine == EngineSilent(why=denied.message, remedy="join the group", denied=True)
    assert seen.why_no_sandbox == "nothing can run a command namespaces: refused"


def test_what_nothing_names_is_told_apart_from_what_is_silent() -> None:
    def only_index(kind: SourceKind, _: EngineInfo | None) -> Address | None:
        return Address(url=SECRET, chosen="x", configured=True) if kind is SourceKind.INDEX else None

    seen = start_host_environment(environment(address=only_index))()
    assert [each.kind for each in seen.sources] == [SourceKind.INDEX]
    assert seen.unnamed == (SourceKind.REGISTRY, SourceKind.DEBIAN)


def test_an_engine_hands_out_gpus_by_the_toolkit_that_it_does_not_tell_of() -> None:
    plain = replace(FAKE_INFO, gpus=False)
    engines = [
        start_host_environment(environment(engine=lambda: plain, has_toolkit=lambda has=has: has))().engine
        for has in (True, False)
    ]
    assert [isinstance(engine, EngineAnswers) and engine.gpus for engine in engines] == [True, False]


def test_only_the_registry_waits_for_what_the_engine_says() -> None:
    told: dict[SourceKind, bool] = {}

    def address(kind: SourceKind, engine: EngineInfo | None) -> None:
        told[kind] = engine is not None

    start_host_environment(environment(address=address))()
    assert told == {SourceKind.REGISTRY: True, SourceKind.INDEX: False, SourceKind.DEBIAN: False}


@pytest.mark.parametrize("login", ["me:secret@", "secret@", "me:se@secret@"])
@pytest.mark.parametrize("scheme", ["http://", "socks5h://", ""])
def test_no_login_of_a_proxy_is_shown(scheme: str, login: str) -> None:
    shown = masked_proxy(f"{scheme}{login}proxy.example:3128/path")
    assert shown == f"{scheme}…@proxy.example:3128"


def test_an_error_of_work_in_a_thread_is_raised_where_its_result_is_wanted() -> None:
    pending: Pending[object] = Pending(raising(ToolMissing("x")))
    with pytest.raises(ToolMissing):
        pending.result(5, None)
