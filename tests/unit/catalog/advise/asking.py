"""A query, as one line of a test."""

from __future__ import annotations

from envbuilder.catalog.advise.advice import Advice, AdviceReason, Query, Recommendation, Topic, Weight, requested_range
from envbuilder.catalog.advise.recommend import advise, described
from envbuilder.catalog.buildable import Inventory
from envbuilder.catalog.machine import Host, gpu_asked
from envbuilder.core.versions import Release
from tests.fakes.catalogs import real_catalog


def ask(
    *,
    tensorflow: str = "",
    python: str = "",
    driver: str = "",
    gpus: str = "",
    keras: str = "",
    cuda: str = "",
    cudnn: str = "",
    glibc: str = "",
    base: str = "",
    cpu: bool = False,
    hosts: tuple[Host, ...] = (),
    inventory: Inventory | None = None,
) -> Recommendation:
    """What the real catalog recommends."""
    facts = real_catalog().cuda
    named = tuple(gpu_asked(facts, name) for name in gpus.split(",") if name)
    query = Query(
        tensorflow=requested_range(tensorflow, "TensorFlow") if tensorflow else None,
        python=Release(python) if python else None,
        keras=requested_range(keras, "Keras") if keras else None,
        cuda=requested_range(cuda, "CUDA") if cuda else None,
        cudnn=requested_range(cudnn, "cuDNN") if cudnn else None,
        glibc=Release(glibc) if glibc else None,
        base=base,
        cpu=cpu,
        inventory=inventory,
        hosts=(*described(Release(driver) if driver else None, named), *hosts),
    )
    return advise(real_catalog(), query)


def rows(advices: tuple[Advice, ...]) -> list[str]:
    """Ids of rows, each once, in order."""
    return list(dict.fromkeys(advice.environment for advice in advices))


def changes(advice: Advice) -> list[str]:
    return [change.text for change in advice.changes]


def about(advice: Advice, topic: Topic, weight: Weight) -> list[AdviceReason]:
    return [reason for reason in advice.reasons if reason.topic is topic and reason.weight is weight]
