"""Bodies and queries read into structs, and the 422 for one that does not match."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest
from msgspec import Meta

from homeostat.edge.request import Headers, Peer, Request
from homeostat.objects.json import Json
from homeostat.web.actions.forms import Declaration
from homeostat.web.identity.forms import NewUser
from homeostat.web.kit.form import read_body, read_number, read_query
from homeostat.web.kit.pages import next_page
from homeostat.web.kit.refusal import RefusalError
from tests.holds import measured_turns


class Part(msgspec.Struct):
    size: Annotated[int, Meta(ge=1)]


class Form(msgspec.Struct, rename={"first_size": "firstSize"}):
    name: str
    parts: Annotated[list[Part], Meta(max_length=20_000)] | None = []
    labels: dict[str, Annotated[str, Meta(max_length=3)]] = {}
    first_size: int | None = None


class Query(msgspec.Struct):
    limit: Annotated[int, Meta(le=10)] = 5
    is_open: bool = False


def request(body: bytes = b"", query: str = "") -> Request:
    return Request("POST", "/things", query, Headers(), body, Peer(""), {})


MISMATCHES: dict[str, tuple[bytes, list[Json], str]] = {
    "nothing": (b"", ["body"], "value_error"),
    "no JSON": (b"{", ["body"], "json_invalid"),
    "no text": (b'{"name": "\xff"}', ["body"], "json_invalid"),
    "very deep": (b'{"name": "x", "more": ' + b"[" * 100_000, ["body"], "json_invalid"),
    "deeper than it may be": (b'{"name": "x", "more": ' + b"[" * 600 + b"]" * 600 + b"}", ["body"], "json_invalid"),
    "too many parts": (b'{"name": "x", "more": [' + b"[]," * 1_000_000 + b"1]}", ["body"], "json_invalid"),
    "a list": (b"[]", ["body"], "value_error"),
    "a field that is missing": (b"{}", ["body", "name"], "missing"),
    "another type": (b'{"name": 1}', ["body", "name"], "value_error"),
    "inside a list": (b'{"name": "x", "parts": [{"size": 0}]}', ["body", "parts", 0, "size"], "value_error"),
    "missing inside a list": (b'{"name": "x", "parts": [{}]}', ["body", "parts", 0, "size"], "missing"),
    "inside a mapping": (b'{"name": "x", "labels": {"a.b": "long"}}', ["body", "labels", "a.b"], "value_error"),
    "a field by its name on the wire": (b'{"name": "x", "firstSize": "1"}', ["body", "firstSize"], "value_error"),
    "a list that is too long": (
        msgspec.json.encode({"name": "x", "parts": [{"size": 1}] * 20_001}),
        ["body", "parts"],
        "value_error",
    ),
}


@pytest.mark.parametrize(("body", "where", "kind"), MISMATCHES.values(), ids=MISMATCHES)
async def test_a_mismatch_is_422_and_names_the_field(body: bytes, where: list[Json], kind: str) -> None:
    with pytest.raises(RefusalError) as caught:
        await read_body(request(body), Form)
    assert caught.value.status == 422
    assert isinstance(caught.value.detail, list)
    (problem,) = caught.value.detail
    assert isinstance(problem, dict)
    assert (problem["loc"], problem["type"]) == (where, kind)
    assert "`$" not in str(problem["msg"])


@pytest.mark.parametrize(("shape", "field"), [(Declaration, "name"), (NewUser, "username")])
async def test_an_invalid_name_is_explained_in_words(shape: type[msgspec.Struct], field: str) -> None:
    body = {"resource_type_name": "A", "resource_type_version": "v1", "password": "long enough", field: "Big_one"}
    with pytest.raises(RefusalError) as caught:
        await read_body(request(msgspec.json.encode(body)), shape)
    assert "a name consists of lower case letters, digits and dashes" in str(caught.value.detail)


async def test_a_body_is_read() -> None:
    assert (await read_body(request(b'{"name": "x", "more": 1}'), Form)).name == "x"


async def test_a_large_body_is_read_beside_the_event_loop() -> None:
    keys = b",".join(b'"k%d":1' % at for at in range(230_000))
    async with measured_turns() as turns:
        assert (await read_body(request(b'{"name":"x",%b}' % keys), Form)).name == "x"
    assert turns.longest_s < 0.05, "on the loop it would take a tenth of a second or more"


def test_a_query_is_read_from_texts() -> None:
    assert read_query(request(query="limit=7&is_open=true&other=1"), Query) == Query(7, True)
    with pytest.raises(RefusalError, match="limit"):
        read_query(request(query="limit=11"), Query)


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "1" * 16, "²"])
def test_an_invalid_number_is_422(text: str) -> None:
    with pytest.raises(RefusalError) as caught:
        read_number({"id": text}, "id")
    assert caught.value.status == 422


def test_the_next_page_has_the_same_query_with_another_start() -> None:
    ((name, value),) = next_page(request(query="limit=2&after=5&status=a%26b"), 9)
    assert (name, value) == ("Link", '</things?limit=2&status=a%26b&after=9>; rel="next"')
