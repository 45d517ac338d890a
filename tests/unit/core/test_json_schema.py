"""Schemas of classes that are alike but for how their values are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from envbuilder.core.conversion.json_schema import json_schema
from envbuilder.core.field_rules import Inside
from envbuilder.core.observation import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """What was seen.

    Attributes:
        names: As texts.
        kinds: As objects with a text.
    """

    names: Fact[tuple[str, ...]]
    kinds: Fact[tuple[Annotated[str, Inside("type")], ...]]


def test_texts_and_texts_in_objects_have_schemas_of_their_own() -> None:
    found = json_schema(Devices, "devices")["$defs"]
    texts, objects = found["SeenOfTupleStr"], found["SeenOfTupleStrType"]
    assert texts["properties"]["value"]["items"] == {"type": "string"}
    assert objects["properties"]["value"]["items"]["properties"] == {"type": {"type": "string"}}
