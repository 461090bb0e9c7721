"""What is sent again, when, and when no more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from homeostat.client.base import Client, Response, UnreachableError
from homeostat.client.http.retries import Patience, Retrying, parse_retry_after
from homeostat.objects.errors import TooManyRequestsError
from homeostat.testing.clock import virtual_time

BROKEN = UnreachableError("broken")
NOBODY = UnreachableError("nobody", was_sent=False)
GOOD = Response(200, b"{}")


class Script:
    """A transport that answers from a script; the last line is repeated."""

    def __init__(self, *outcomes: Response | UnreachableError) -> None:
        self._outcomes = list(outcomes)
        self.times: list[float] = []

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        self.times.append(asyncio.get_running_loop().time())
        outcome = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        if isinstance(outcome, UnreachableError):
            raise outcome
        return outcome

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        return await self.send("GET", path)


def patient(script: Script, patience: Patience | None = None, chance: float = 0.0) -> Retrying:
    return Retrying(script, patience, chance=lambda: chance, clock=asyncio.get_running_loop().time)


@pytest.mark.parametrize(
    ("method", "outcome", "is_sent_again"),
    [
        ("GET", Response(429, b""), True),
        ("POST", Response(429, b""), True),
        ("POST", Response(503, b"", 1.0), True),
        ("GET", Response(503, b""), True),
        ("POST", Response(503, b""), False),
        ("GET", Response(500, b""), True),
        ("DELETE", Response(504, b""), False),
        ("GET", Response(404, b""), False),
        ("GET", Response(409, b""), False),
        ("GET", BROKEN, True),
        ("PATCH", BROKEN, False),
        ("DELETE", BROKEN, False),
        ("POST", NOBODY, True),
    ],
)
@virtual_time
async def test_only_what_is_safe_is_sent_again(
    method: str, outcome: Response | UnreachableError, is_sent_again: bool
) -> None:
    script = Script(outcome, GOOD)
    if is_sent_again or isinstance(outcome, Response):
        assert await patient(script).send(method, "/") == (GOOD if is_sent_again else outcome)
    else:
        with pytest.raises(UnreachableError):
            await patient(script).send(method, "/")
    assert len(script.times) == 1 + is_sent_again


@virtual_time
async def test_the_server_says_how_long_to_wait() -> None:
    script = Script(Response(429, b"", 7.0), GOOD)
    await patient(script, chance=0.5).send("POST", "/")
    assert script.times == [0.0, 7.05]


@virtual_time
async def test_otherwise_waits_double_up_to_a_limit_and_attempts_end() -> None:
    script = Script(Response(503, b""))
    patience = Patience(attempts=6, first_s=1.0, longest_s=4.0)
    assert (await patient(script, patience, chance=1.0).send("GET", "/")).status == 503
    assert script.times == [0.0, 1.0, 3.0, 7.0, 11.0, 15.0]


@virtual_time
async def test_a_server_that_wants_more_time_than_there_is_is_not_asked_again() -> None:
    script = Script(Response(429, b"", 3600.0))
    with pytest.raises(TooManyRequestsError) as caught:
        await Client(patient(script)).get("/")
    assert script.times == [0.0]
    assert caught.value.retry_after_s == 3600


@virtual_time
async def test_a_watch_is_left_to_who_follows_it() -> None:
    script = Script(Response(429, b"", 1.0))
    assert await patient(script).stream("/") == Response(429, b"", 1.0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None),
        ("1", 1.0),
        (" 30 ", 30.0),
        ("-1", None),
        ("9" * 400, None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
    ],
)
def test_a_retry_after_is_whole_seconds(text: str | None, seconds: float | None) -> None:
    assert parse_retry_after(text) == seconds
