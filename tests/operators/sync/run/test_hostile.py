"""Bad servers, bad files, bad metadata: a clear result for each resource, nothing deleted that was not ours, no secret
shown.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from homeostat.cli.main import main
from homeostat.operators.sync.engine.errors import NotFoundError
from homeostat.operators.sync.engine.lists import paging
from homeostat.operators.sync.repository.files import FileRepository
from homeostat.operators.sync.run.options import SyncOptions
from homeostat.operators.sync.run.record import Owned, Record
from homeostat.operators.sync.run.report import Report, Result
from tests.operators.sync.cases import Rest
from tests.operators.sync.run.hostile import HANG, Answer, hostile_server
from tests.operators.sync.run.syncing import Policy, became, objects

_PAGE = Answer(200, b"<html>Please log in</html>", {"Content-Type": "text/html; charset=utf-8"})
_OURS = Record(objects={"/t/gone": Owned("gone", "created")})


def files(*names: str, **more: Any) -> dict[str, Any]:
    return {f"t/{name}/resource.json": {"id": name, **more} for name in names}


def only(report: Report) -> Result:
    (result,) = report.results
    return result


async def test_a_server_that_confirms_what_it_does_not_store_is_found_out() -> None:
    async with hostile_server(lambda method, _, __: Answer(201, {}) if method == "POST" else Answer(404)) as server:
        result = only(await Policy(server.url).sync(files("a")))
    assert (result.became, result.kind) == ("failed", "Transport")
    assert "does not have the object" in result.message


async def test_a_server_that_never_answers_costs_a_limited_time() -> None:
    async with hostile_server(lambda *_: HANG) as server:
        policy = Policy(server.url, record=_OURS, timeout_s=0.3)
        report = await policy.sync(files("a"))
    assert became(report) == {"/t/a": "failed", "/t/gone": "failed"}
    assert "timed out after 0.3 s" in report.results[0].message
    assert policy.record.owned.keys() == {"/t/gone"}


async def test_a_server_that_fails_one_request_in_ten_converges() -> None:
    stored, count = dict[str, Any](), 0

    def behave(method: str, path: str, body: Any) -> Answer:
        nonlocal count
        count += 1
        if count % 10 == 0:
            return Answer(500, {"error": "sometimes"})
        if method == "POST":
            stored[f"/t/{body['id']}"] = body
            return Answer(201, body)
        if path == "/t":
            return Answer(200, list(stored.values()))
        return Answer(200, stored[path]) if path in stored else Answer(404)

    declared = files(*(f"n{number}" for number in range(30)))
    async with hostile_server(behave) as server:
        policy = Policy(server.url)
        first = await policy.sync(declared)
        assert {each.kind for each in first.failed} == {"Transport"}
        for _ in range(5):
            last = await policy.sync(declared)
    assert len(stored) == 30
    assert not last.failed
    assert len(policy.record.owned) == 30


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (_PAGE, "a page"),
        (Answer(200, b""), "nothing in place of the object"),
        (Answer(302, None, {"Location": "http://127.0.0.1:9/elsewhere"}), "redirects to another address"),
        (Answer(200, b'{"id": '), "JSON"),
        (Answer(200, b"[" * 100_000), ""),
        (Answer(401, {"error": "who are you"}), "HTTP 401"),
    ],
    ids=["page", "nothing", "redirect", "cut", "deep", "unauthorised"],
)
async def test_an_answer_that_is_no_object_changes_nothing(answer: Answer, says: str) -> None:
    async with hostile_server(lambda *_: answer) as server:
        policy = Policy(server.url, record=_OURS)
        one, two = await policy.sync(files("a")), await policy.sync(files("a", "b"))
    for report in (one, two):
        assert {each.became for each in report.results if each.path != "/t/gone"} == {"failed"}
        assert became(report)["/t/gone"] in ("failed", "held")
    assert says in one.results[0].message or "a text in place of the object" in one.results[0].message
    assert server.writes == []
    assert policy.record.owned.keys() == {"/t/gone"}


async def test_pages_without_an_end_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "MOST_PAGES", 20)
    count = 0

    def behave(_: str, path: str, __: Any) -> Answer:
        nonlocal count
        count += 1
        if path.startswith("/t?") or path == "/t":
            return Answer(200, [{"id": str(count)}], {"Link": f'</t?page={count}>; rel="next"'})
        return Answer(500)

    async with hostile_server(behave) as server:
        report = await Policy(server.url).sync(files("a", "b"))
    assert {each.became for each in report.results} == {"failed"}
    assert count < 100


async def test_an_asynchronous_creation_is_waited_for() -> None:
    polls = 0

    def behave(method: str, path: str, _: Any) -> Answer:
        nonlocal polls
        if method == "POST":
            return Answer(202, None, {"Location": "/jobs/1"})
        if path == "/jobs/1":
            polls += 1
            return Answer(202 if polls < 2 else 200, {})
        return Answer(200, {"id": "a", "state": "up" if polls > 2 else "starting"}) if polls >= 2 else Answer(404)

    metadata = b"resource: {ready: {jq: '.state == \"up\"', timeoutSeconds: 20}}\n"
    async with hostile_server(behave) as server:
        result = only(await Policy(server.url).sync({"t/_/metadata.yaml": metadata, **files("a")}))
    assert result.became == "created"
    assert polls > 2


async def test_an_object_that_never_gets_ready_is_a_failure_and_still_ours() -> None:
    stored = dict[str, Any]()

    def behave(method: str, path: str, body: Any) -> Answer:
        if method == "POST":
            stored["/t/a"] = body
            return Answer(201, body)
        return Answer(200, stored[path]) if path in stored else Answer(404)

    declared = {"t/_/metadata.yaml": b"resource: {ready: {jq: .up, timeoutSeconds: 1}}\n", **files("a")}
    async with hostile_server(behave) as server:
        policy = Policy(server.url)
        result = only(await policy.sync(declared))
        assert result.became == "failed"
        assert "not ready after 1 s" in result.message
        assert policy.record.creating == {"/t/a"}
        assert only(await policy.sync(declared)).became == "unchanged"
    assert policy.record.owned.keys() == {"/t/a"}


class Secrets:
    """A store in memory."""

    def __init__(self) -> None:
        self.values = dict[str, str]()

    async def check(self) -> None: ...

    async def open(self) -> None: ...
    async def close(self) -> None: ...

    async def get(self, key: str) -> str:
        if key not in self.values:
            raise NotFoundError(key)
        return self.values[key]

    async def put(self, secrets: Mapping[str, str]) -> None:
        self.values |= secrets

    async def delete(self, key: str) -> None:
        del self.values[key]

    async def keys(self) -> list[str]:
        return list(self.values)


async def test_a_secret_that_is_given_once_is_kept_and_never_shown() -> None:
    def behave(method: str, *_: Any) -> Answer:
        if method == "POST":
            return Answer(201, {"id": "a", "credentials": {"token": "s3cr3t-token"}})
        return Answer(500, {"error": "s3cr3t-token is known to this server"})

    metadata = {"t/_/metadata.yaml": b"resource: {capturedAttributes: [/credentials/token]}\n"}
    store = Secrets()
    async with hostile_server(
        lambda *given: behave(*given) if given[0] == "POST" or store.values else Answer(404)
    ) as server:
        without = only(await Policy(server.url).sync({**metadata, **files("a")}))
        assert "needs a secret store" in without.message
        assert server.writes == []
        report = await Policy(server.url, store=store).sync({**metadata, **files("a")})
    assert store.values == {"t/a:/credentials/token": "s3cr3t-token"}
    assert only(report).message
    assert "s3cr3t" not in repr(report)


async def test_a_bad_file_or_document_fails_alone(rest: Rest) -> None:
    rest.call("PUT", "/_/state", {"collections": {"/t": {}, "/u": {}, "/v": {}, "/w": {}}})
    declared = {
        "t/good/resource.json": {"id": "good"},
        "t/twice/resource.json": {"id": "twice"},
        "t/twice/resource.yaml": b"id: twice\n",
        "t/huge/resource.json": b'{"id": "huge", "pad": "' + b"x" * (50 << 20) + b'"}',
        "t/deep/resource.json": b"[" * 5000,
        "t/bad/resource.json": b"{",
        "u/_/metadata.yaml": b"resource: {id: '{{ {{ }}'}\n",
        "u/a/resource.json": {"id": "a"},
        "v/_/metadata.yaml": b"operations: {create: {path: '/{{/missing}}/../../admin'}}\n",
        "v/a/resource.json": {"id": "a", "missing": "x"},
        "w/_/metadata.yaml": b"operations: {create: {transforms: [{jqExpression: 'error(\"no\")'}]}}\n",
        "w/a/resource.json": {"id": "a"},
    }
    policy = Policy(rest.url, source="/")
    report = await policy.sync(declared)
    assert [each.path for each in report.results if each.became == "created"] == ["/t/good"]
    failed = {each.path: each for each in report.failed}
    assert failed.keys() == {"/t/twice", "/t/huge", "/t/deep", "/t/bad", "/u/a", "/v/a", "/w/a"}
    assert all(each.message.startswith(each.path) and len(each.message) < 1100 for each in failed.values())
    assert {each.kind for each in failed.values()} <= {"Validation", "Conflict"}
    assert objects(rest).keys() == {"/t/good"}


async def test_links_are_not_followed_and_nothing_is_deleted_for_them(rest: Rest, tmp_path: Path) -> None:
    rest.call("PUT", "/_/state", {"collections": {"/t": {}}})
    for name in "abc":
        (tmp_path / f"repo/t/{name}").mkdir(parents=True)
        (tmp_path / f"repo/t/{name}/resource.json").write_text(f'{{"id": "{name}"}}')
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/resource.json").write_text('{"id": "b", "stolen": true}')
    policy = Policy(rest.url, SyncOptions(prune=True))

    async def sync() -> Report:
        root = await FileRepository(tmp_path / "repo").load("/t", is_recursive=True)
        policy.use(root)
        return await policy.sync({})

    assert set(became(await sync()).values()) == {"created"}
    (tmp_path / "repo/t/a/resource.json").unlink()
    (tmp_path / "repo/t/a/resource.json").symlink_to("/etc/hostname")
    (tmp_path / "repo/t/b/resource.json").unlink()
    (tmp_path / "repo/t/b").rmdir()
    (tmp_path / "repo/t/b").symlink_to(tmp_path / "outside")
    assert became(await sync()) == {"/t/a": "held", "/t/b": "held", "/t/c": "unchanged"}
    assert objects(rest)["/t/b"] == {"id": "b"}


async def test_a_command_that_is_killed_half_way_still_owns_what_it_created(tmp_path: Path) -> None:
    stored, sent, half_way = dict[str, Any](), set[str](), asyncio.Event()

    def behave(method: str, path: str, body: Any) -> Answer:
        if method == "POST":
            sent.add(body["id"])
            if sent == {"a", "b"}:
                half_way.set()
            if body["id"] == "b":
                return HANG
        if method == "POST":
            stored[f"/t/{body['id']}"] = body
            return Answer(201, body)
        if method == "DELETE":
            return Answer(204 if stored.pop(path, None) else 404)
        if path == "/t":
            return Answer(200, list(stored.values()))
        return Answer(200, stored[path]) if path in stored else Answer(404)

    for name in "ab":
        (tmp_path / f"repo/t/{name}").mkdir(parents=True)
        (tmp_path / f"repo/t/{name}/resource.json").write_text(f'{{"id": "{name}"}}')
    async with hostile_server(behave) as server:
        context = {
            "name": "c",
            "repository": {"filesystem": {"baseDir": str(tmp_path / "repo")}},
            "managedService": {"http": {"url": server.url}},
        }
        (tmp_path / "contexts.yaml").write_text(json.dumps({"currentContext": "c", "contexts": [context]}))
        plan = str(tmp_path / "plan.json")
        await _command(tmp_path, "plan", "/t", "-r", "--out", plan)
        running = await _started(tmp_path, "apply-plan", plan)
        async with asyncio.timeout(60):
            await half_way.wait()
        running.kill()
        await running.wait()
        (tmp_path / "repo/t/b/resource.json").unlink()
        stored["/t/foreign"] = {"id": "foreign"}
        assert await _command(tmp_path, "plan", "/t", "-r", "--out", plan) == 0
        assert await _command(tmp_path, "apply-plan", plan) == 0
        (tmp_path / "repo/t/a/resource.json").unlink()
        assert await _command(tmp_path, "prune", "/t", "--yes") == 0
    assert stored.keys() == {"/t/foreign"}


def _environment(root: Path) -> dict[str, str]:
    return {
        "HOME": str(root),
        "XDG_STATE_HOME": str(root / "state"),
        "DECLAREST_CONTEXTS_FILE": str(root / "contexts.yaml"),
    }


async def _started(root: Path, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("homeostat")),
        *("sync", *words),
        env={**os.environ, **_environment(root)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )


async def _command(root: Path, *words: str) -> int:
    """In this process, beside the server."""
    done = await asyncio.to_thread(CliRunner().invoke, main, ["sync", *words], env=_environment(root))
    return done.exit_code
