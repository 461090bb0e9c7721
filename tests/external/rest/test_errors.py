"""The parts of an error are kept apart, so that nobody has to cut them out of its text."""

from __future__ import annotations

import pytest

from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import BreakerOpenError, NotSentError, RestError
from homeostat.external.rest.request import Request
from homeostat.external.rest.settings import RestSettings
from tests.ports import free_port


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (RestError("it failed"), "it failed"),
        (RestError("a: b; c", host="[::1]:80"), "[::1]:80: a: b; c"),
        (NotSentError("it failed", host="a:1", advice="try again"), "a:1: it failed; try again"),
        (BreakerOpenError("it failed", 2.0, host="a", advice="wait"), "a: it failed; wait"),
    ],
)
def test_the_text_is_put_together_from_the_parts(error: RestError, text: str) -> None:
    assert str(error) == text


async def test_an_unreachable_host_is_named_beside_the_problem() -> None:
    host = f"127.0.0.1:{free_port()}"
    async with RestClient(RestSettings()) as client:
        with pytest.raises(NotSentError) as caught:
            await client.send(Request("GET", f"http://{host}/"))
    assert (caught.value.host, caught.value.problem) == (host, "cannot connect: Connection refused")
    assert str(caught.value) == f"{host}: cannot connect: Connection refused; {caught.value.advice}"
