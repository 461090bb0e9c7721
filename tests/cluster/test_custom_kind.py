"""A real cluster takes a definition that was made from types, and holds objects to it as a plane does."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from homeostat.client.discovery import Discovery
from homeostat.objects.errors import InvalidError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEFINITION
from homeostat.runtime.installation import install
from tests.api.test_custom_kind import REFUSED
from tests.cluster.fixtures import Api
from tests.objects import custom_kinds

# Of a group of its own: others have Greetings too, and a cluster is shared.
GREETING = msgspec.structs.replace(
    custom_kinds.GREETING, kind=msgspec.structs.replace(custom_kinds.GREETING.kind, group="types.example")
)


def greeting(name: str, **spec: Any) -> JsonObject:
    kind = GREETING.kind
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name},
        "spec": {"text": "hello", **spec},
    }


@pytest.fixture
async def served(api: Api) -> Api:
    await install(api.client, [GREETING])
    return api


async def test_a_definition_comes_back_as_it_was_made(served: Api) -> None:
    stored = await served.client.get(DEFINITION.path("", "greetings.types.example"))
    assert stored["spec"]["versions"] == GREETING.definition()["spec"]["versions"]
    assert "gr" in (await Discovery(served.client).find(GREETING.kind.api_version, "Greeting")).words()


async def test_an_object_is_filled_in(served: Api) -> None:
    created = await served.client.create(GREETING.kind.path(served.namespace), greeting("g", secondVoice={}))
    filled = {"pitch": 20, "loudness": 0.5, "mood": "calm"}
    assert created["spec"] == {
        "text": "hello",
        "times": 1,
        "isLoud": False,
        "language": "en",
        "voice": filled,
        "secondVoice": filled,
        "tags": ["a", "b"],
        "room": "hall",
        "signature": "host",
    }


@pytest.mark.parametrize(("spec", "field", "told"), REFUSED.values(), ids=REFUSED.keys())
async def test_what_the_types_do_not_let_through_is_refused(
    served: Api, spec: dict[str, Any], field: str, told: str
) -> None:
    with pytest.raises(InvalidError) as caught:
        await served.client.create(GREETING.kind.path(served.namespace), greeting("g", **spec))
    # A real server goes on to say which rules it did not come to, and a field that is none is Go's nil.
    cause = caught.value.causes[0]
    assert cause.field.replace("<nil>", "") == field
    assert told in cause.message
