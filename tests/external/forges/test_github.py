"""GitHub's answers, and what they say about what was started."""

from __future__ import annotations

import io
import socket
import zipfile
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from homeostat.external.forges.forge import RateLimitedError, RefusedError, UnknownOutcomeError, UnreachedError
from homeostat.external.forges.github import GitHub, Repository, _first_json
from homeostat.external.rest.client import RestClient
from tests.external.fake_github import TOKEN, FakeGitHub, Workflow
from tests.external.servers import serving
from tests.holds import measured_turns

INFRA = Repository("acme", "infra")
NOW_S = 1_767_225_600.0


@pytest.fixture
async def fake() -> AsyncIterator[FakeGitHub]:
    github = FakeGitHub(apply=Workflow(frozenset({"spec"}), artifacts={"outputs": {"id": 1}}))
    github.now_s = lambda: NOW_S
    async with serving(github) as github.url:
        yield github


@pytest.fixture
async def client(fake: FakeGitHub) -> AsyncIterator[GitHub]:
    async with RestClient() as http:
        yield GitHub(http, TOKEN, api=fake.url, now_s=lambda: NOW_S)


async def test_a_dispatch_returns_the_run_that_it_started(client: GitHub, fake: FakeGitHub) -> None:
    started = await client.dispatch(INFRA, "apply.yml", "main", {"spec": "{}"})
    assert started is not None
    assert list(fake.runs) == [started.workflow_run_id]
    assert started.html_url.endswith(str(started.workflow_run_id))


async def test_an_older_server_starts_it_and_does_not_report_it(client: GitHub, fake: FakeGitHub) -> None:
    fake.knows_details = False
    assert await client.dispatch(INFRA, "apply.yml", "main", {}) is None
    assert len(fake.runs) == 1


@pytest.mark.parametrize(
    ("workflow", "inputs", "told"),
    [("none.yml", {}, "HTTP 404: Not Found"), ("apply.yml", {"x": "1"}, "HTTP 422: Unexpected inputs")],
    ids=["unknown-workflow", "unknown-input"],
)
async def test_a_refusal_says_why(
    client: GitHub, fake: FakeGitHub, workflow: str, inputs: dict[str, str], told: str
) -> None:
    with pytest.raises(RefusedError, match=told):
        await client.dispatch(INFRA, workflow, "main", inputs)
    assert not fake.runs


async def test_a_lost_answer_is_uncertain_though_the_run_was_started(client: GitHub, fake: FakeGitHub) -> None:
    fake.loses_answers = 1
    with pytest.raises(UnknownOutcomeError):
        await client.dispatch(INFRA, "apply.yml", "main", {})
    assert len(fake.runs) == 1


async def test_a_server_that_fails_is_uncertain(client: GitHub, fake: FakeGitHub) -> None:
    fake.moods = [web.json_response({"message": "Server Error"}, status=502)]
    with pytest.raises(UnknownOutcomeError, match="HTTP 502: Server Error"):
        await client.run(INFRA, 1)


async def test_a_refused_connection_means_that_nothing_was_started() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        async with RestClient() as http:
            client = GitHub(http, TOKEN, api=f"http://127.0.0.1:{held.getsockname()[1]}")
            with pytest.raises(UnreachedError):
                await client.dispatch(INFRA, "apply.yml", "main", {})


@pytest.mark.parametrize(
    ("retry_after", "reset_in_s", "expected_s"),
    [(17, None, 17), (None, 120, 120), (17, 120, 17), (None, None, 60), (None, 100_000, 3600)],
    ids=["retry-after", "reset", "retry-after-counts-first", "neither", "at-most-an-hour"],
)
async def test_limits_are_kept_as_github_asks(
    client: GitHub, fake: FakeGitHub, retry_after: int | None, reset_in_s: int | None, expected_s: float
) -> None:
    fake.moods = [fake.limited(retry_after=retry_after, reset_in_s=reset_in_s)]
    with pytest.raises(RateLimitedError) as error:
        await client.dispatch(INFRA, "apply.yml", "main", {})
    assert error.value.after_s == expected_s
    assert not fake.runs


async def test_a_403_that_is_no_limit_is_a_refusal(client: GitHub, fake: FakeGitHub) -> None:
    fake.moods = [web.json_response({"message": "Resource not accessible by personal access token"}, status=403)]
    with pytest.raises(RefusedError, match="not accessible"):
        await client.run(INFRA, 1)


async def test_dispatched_runs_are_listed_over_pages(client: GitHub, fake: FakeGitHub) -> None:
    for _ in range(150):
        await client.dispatch(INFRA, "apply.yml", "main", {})
    runs = await client.dispatched_runs(INFRA, "apply.yml", "2025-12-31T23:59:55Z")
    assert len({each.id for each in runs}) == 150
    assert await client.dispatched_runs(INFRA, "apply.yml", "2026-01-02T00:00:00Z") == []


async def test_what_a_run_leaves_is_read_and_no_credential_goes_where_it_is(client: GitHub, fake: FakeGitHub) -> None:
    started = await client.dispatch(INFRA, "apply.yml", "main", {})
    assert started is not None
    (artifact,) = await client.artifacts(INFRA, started.workflow_run_id)
    assert await client.artifact_json(INFRA, artifact) == {"id": 1}
    assert fake.leaks == []


@pytest.mark.parametrize(
    "content", [b"no archive", b"PK\x05\x06" + b"\0" * 18, [1, 2]], ids=["rubbish", "empty", "list"]
)
async def test_an_artifact_that_is_none_is_refused(client: GitHub, fake: FakeGitHub, content: object) -> None:
    fake.workflows["apply.yml"].artifacts = {"outputs": content}
    started = await client.dispatch(INFRA, "apply.yml", "main", {})
    assert started is not None
    (artifact,) = await client.artifacts(INFRA, started.workflow_run_id)
    with pytest.raises(RefusedError, match='the artifact "outputs"'):
        await client.artifact_json(INFRA, artifact)


async def test_a_run_may_be_cancelled_twice(client: GitHub, fake: FakeGitHub) -> None:
    started = await client.dispatch(INFRA, "apply.yml", "main", {})
    assert started is not None
    for _ in range(2):
        await client.cancel(INFRA, started.workflow_run_id)
    assert fake.cancelled == [started.workflow_run_id]


async def test_errors_hold_no_token(fake: FakeGitHub) -> None:
    async with RestClient() as http:
        client = GitHub(http, "wrong-token", api=fake.url)
        with pytest.raises(RefusedError) as error:
            await client.run(INFRA, 1)
    assert "wrong-token" not in str(error.value)


@pytest.mark.parametrize("status", [301, 307])
async def test_a_repository_that_moved_starts_nothing(status: int) -> None:
    """GitHub answers so for one that was renamed."""

    async def moved(_: web.Request) -> web.StreamResponse:
        return web.json_response(
            {"message": "Moved Permanently"}, status=status, headers={"Location": "/repositories/1"}
        )

    async with serving(moved) as url, RestClient() as http:
        with pytest.raises(RefusedError, match="Moved"):
            await GitHub(http, TOKEN, api=url).dispatch(INFRA, "apply.yml", "main", {})


@pytest.mark.parametrize("status", [200, 422])
async def test_a_body_that_is_not_text_is_an_error_of_the_forge(status: int) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=b'{"message": "\xff"}', status=status)

    async with serving(answer) as url, RestClient() as http:
        with pytest.raises((UnknownOutcomeError, RefusedError)):
            await GitHub(http, TOKEN, api=url).run(INFRA, 1)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([f"{at}.json" for at in range(50)], "among its first 20"),
        ([f"{at}.txt" for at in range(1001)], "more than 1000 files"),
    ],
    ids=["many lists", "many files"],
)
def test_of_an_archive_only_so_many_files_are_read(names: list[str], message: str) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, "[]")
        archive.writestr("last.json", "{}")
    with pytest.raises(RefusedError, match=message):
        _first_json(packed.getvalue(), "outputs")


def test_an_archive_with_a_password_is_refused() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.json", "{}")
    data = bytearray(packed.getvalue())
    for signature, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(signature) + at] |= 1
    with pytest.raises(RefusedError, match="cannot be read"):
        _first_json(bytes(data), "outputs")


@pytest.mark.parametrize(
    ("status", "start", "part", "end"),
    [(200, b'{"workflow_runs":[', b'{"id":1},', b'{"id":1}]}'), (422, b'{"message":[', b"[],", b"[]]}")],
    ids=["objects", "an error"],
)
async def test_a_large_answer_does_not_hold_the_event_loop(status: int, start: bytes, part: bytes, end: bytes) -> None:
    body = start + part * ((6 << 20) // len(part)) + end

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(body=body, status=status, content_type="application/json")

    async with serving(answer) as url, RestClient() as http, measured_turns() as turns:
        with pytest.raises((UnknownOutcomeError, RefusedError), match=r"more than 200000 objects|\[\],\[\]"):
            await GitHub(http, TOKEN, api=url).runs_of_commit(INFRA, "a")
    assert turns.longest_s < 0.15
