"""Never a bare refusal: every set of constraints gives an environment, or something to change."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from envbuilder.catalog.advise.advice import Query, Topic, Verdict, requested_range
from envbuilder.catalog.advise.recommend import PRICES, advise, price
from envbuilder.catalog.machine import Host, HostGpu
from envbuilder.core.versions import Release
from tests.fakes.catalogs import real_catalog, small_catalog

VERSIONS = st.sampled_from(
    ["1", "1.4", "1.5.0", "1.15", ">=1.13,<2", "2.4", "2.4.9", "~=2.6", ">=2.4,<2.6", "2.16", "9", ">=3,<2"]
)
RELEASES = st.builds("{}.{}".format, st.integers(0, 20), st.integers(0, 20))
DRIVERS = st.builds("{}.{}".format, st.integers(300, 700), st.integers(0, 200)).map(Release)
GPUS = st.builds(
    HostGpu,
    name=st.sampled_from(["", "Tesla K80", "H100", "nonsense"]),
    capability=st.none() | st.builds("{}.{}".format, st.integers(1, 13), st.integers(0, 9)).map(Release),
)
HOSTS = st.builds(
    Host,
    name=st.sampled_from(["", "a", "b"]),
    driver=st.none() | DRIVERS,
    cuda=st.none() | RELEASES.map(Release),
    gpus=st.none() | st.lists(GPUS, max_size=3).map(tuple),
    machine=st.sampled_from([None, "x86_64", "aarch64"]),
    avx=st.sampled_from([None, True, False]),
    is_described=st.booleans(),
)


def specs(versions: st.SearchStrategy[str]) -> st.SearchStrategy[object]:
    return st.none() | versions.map(lambda text: requested_range(text, "it"))


WANTED = st.builds(
    Query,
    tensorflow=specs(VERSIONS),
    python=st.none() | st.builds("{}.{}".format, st.integers(2, 4), st.integers(0, 20)).map(Release),
    keras=specs(st.sampled_from(["2.2.4", "2.3", ">=2.1,<2.2", "3", "17"])),
    cuda=specs(RELEASES),
    cudnn=specs(RELEASES),
    glibc=st.none() | RELEASES.map(Release),
    base=st.sampled_from(["", "debian-bookworm", "no-such-base"]),
    cpu=st.booleans(),
    hosts=st.lists(HOSTS, max_size=3).map(tuple),
)


@settings(max_examples=20, deadline=None)
@given(WANTED)
def test_every_set_of_constraints_gives_an_environment_or_a_change(query: Query) -> None:
    found = advise(real_catalog(), query)
    assert found.fitting or found.nearest
    assert all(advice.verdict is not Verdict.NOT and not advice.changes for advice in found.fitting)
    assert all(advice.changes and advice.verdict is Verdict.NOT for advice in found.nearest)
    assert all(change.text and "None" not in change.text for near in found.nearest for change in near.changes)
    prices = [price(advice) for advice in found.nearest]
    assert prices == sorted(prices)


@settings(max_examples=20, deadline=None)
@given(WANTED)
def test_the_answer_is_the_same_for_the_same_question(query: Query) -> None:
    assert advise(small_catalog(), query) == advise(small_catalog(), query)


def test_every_topic_has_its_price_in_the_order_that_the_documents_name() -> None:
    assert set(PRICES) == set(Topic)
    named = (Topic.PATCH, Topic.PYTHON, Topic.BASE, Topic.KERAS, Topic.DRIVER, Topic.TENSORFLOW, Topic.GPU)
    assert [PRICES[topic] for topic in named] == sorted(PRICES[topic] for topic in named)
