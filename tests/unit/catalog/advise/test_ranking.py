"""The order of advice that differs in its proof alone."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.catalog.advise.advice import Wanted
from envbuilder.catalog.advise.ranking import order
from envbuilder.catalog.evidence import Grade
from tests.unit.catalog.advise.asking import ask


def place_of(proven: Grade) -> tuple[object, ...]:
    advice = ask(tensorflow="2.4", cuda="11").fitting[0]
    return order(replace(advice, proven=proven), 0, Wanted())


def test_stand_ins_are_no_reason_to_prefer_an_environment() -> None:
    assert place_of(Grade.IMAGE_WITH_STAND_INS) == place_of(Grade.CPU)
    assert place_of(Grade.IMAGE_WITH_STAND_INS) != place_of(Grade.IMAGE)
