"""Servers and repositories that misbehave: each resource has a clear result, and nothing is deleted that is not ours.

All cases run at the same time, each in a namespace of its own, under one operator on one plane.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from homeostat.objects.json import JsonObject
from homeostat.operators import sync
from homeostat.operators.sync.api.policy import SYNC_POLICY
from homeostat.operators.sync.engine.lists import paging
from homeostat.plane import Settings, open_plane
from homeostat.runtime.installation import install
from tests.cluster.fixtures import create_namespace
from tests.external.git_servers import serving_git
from tests.external.servers import serving
from tests.operators.sync.cases import Rest
from tests.operators.sync.operator import stage as stages
from tests.operators.sync.operator.stage import PASSWORD, TOKEN, Stage, operating, ready_of

LARGE = 17 << 20


@dataclass
class Shelf:
    """A REST server of `/customers` that misbehaves as `fault` says."""

    fault: str = ""
    objects: dict[str, Any] = field(default_factory=dict)
    elsewhere: list[str] = field(default_factory=list)
    asked: int = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        if request.path.startswith("/elsewhere"):
            self.elsewhere.append(str(request.headers.get("Authorization")))
            return web.json_response([])
        match self.fault:
            case "one in ten" if self.asked % 10 == 0:
                return web.json_response({"seen": TOKEN}, status=500)
            case "html":
                return web.Response(text=f"<html>Log in, {TOKEN}</html>", content_type="text/html")
            case "redirect":
                port = request.url.port
                return web.Response(status=302, headers={"Location": f"http://localhost:{port}/elsewhere"})
            case "pages" if request.path == "/customers" and request.method == "GET":
                where = f"{request.url.with_query(page=self.asked)}"
                return web.json_response([{"id": f"x{self.asked}"}], headers={"Link": f'<{where}>; rel="next"'})
        return await self._answer(request)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        name = request.path.removeprefix("/customers").strip("/")
        match request.method:
            case "POST":
                body = await request.json()
                self.objects[body["id"]] = body
                return web.json_response(body, status=201)
            case _ if not name:
                return web.json_response(list(self.objects.values()))
            case _ if name not in self.objects:
                return web.json_response({}, status=404)
            case "PUT":
                self.objects[name] = await request.json()
            case "DELETE":
                return web.json_response(self.objects.pop(name))
        return web.json_response(self.objects[name])


class Ground:
    def __init__(self, stage: Stage) -> None:
        self._first = stage

    @asynccontextmanager
    async def case(self, name: str, shelf: Shelf, files: dict[str, str | bytes], **policy: Any) -> AsyncIterator[Stage]:
        """A namespace, a repository with these files of customers, and a server."""
        root = self._first.root / name
        async with serving_git(root, PASSWORD) as (_, git), serving(shelf.answer) as url:
            stage = Stage(self._first.client, await create_namespace(self._first.client), Rest(url), root, git)
            await asyncio.to_thread(stage.origin.commit, {f"customers/{path}": text for path, text in files.items()})
            await stage.declare(**policy)
            yield stage
            text = str(await stage.get("SyncPolicy", "customers")) + str(await stage.events())
            assert TOKEN not in text
            assert PASSWORD not in text


@pytest.fixture
async def ground(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ground]:
    # All cases share the machine.
    monkeypatch.setattr(stages, "WITHIN_S", 60.0)
    monkeypatch.setattr(paging, "MOST_PAGES", 20)
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        await install(plane.client, sync.KINDS)
        stage = Stage(plane.client, "default", Rest(""), tmp_path / "stage", "")
        async with operating(stage):
            yield Ground(stage)


def named(*names: str) -> dict[str, str | bytes]:
    return {f"{each}/resource.json": json.dumps({"id": each}) for each in names}


def results(status: JsonObject) -> dict[str, str]:
    return {each["path"]: each["result"] for each in status.get("resources", ())}


def ended(status: JsonObject, *, handled: str | None) -> bool:
    """Whether the sync of this request has ended."""
    return ready_of(status)[1] in ("Ready", "ReconcileFailed") and status.get("lastHandledRequest") == handled


def of(status: JsonObject, path: str) -> str:
    found: str = next(each["message"] for each in status["resources"] if each["path"] == path)
    return found


async def adopted(ground: Ground) -> None:
    shelf = Shelf(objects={"a": {"id": "a"}, "other": {"id": "other"}})
    async with ground.case("adopted", shelf, named("a", "b"), sync={"prune": True, "adopt": "declared"}) as stage:
        await stage.until(lambda status: ready_of(status)[0] == "True")
        await stage.synced(await stage.push({}, "customers/a/resource.json", "customers/b/resource.json"))
        assert set(shelf.objects) == {"other"}


async def not_adopted(ground: Ground) -> None:
    shelf = Shelf(objects={"a": {"id": "a"}, "other": {"id": "other"}})
    async with ground.case("not-adopted", shelf, named("a", "b")) as stage:
        await stage.until(lambda status: ready_of(status)[0] == "True")
        await stage.synced(await stage.push({}, "customers/a/resource.json", "customers/b/resource.json"))
        assert set(shelf.objects) == {"a", "other"}


async def limited(ground: Ground) -> None:
    names, shelf = [f"c{number}" for number in range(20)], Shelf()
    async with ground.case("limited", shelf, named(*names)) as stage:
        await stage.until(lambda status: ready_of(status)[0] == "True")
        gone = [f"customers/{each}/resource.json" for each in names[:10]]
        await stage.push({}, *gone)
        status = await stage.until(lambda status: ready_of(status)[1] == "ChangesHeld")
        assert "10" in ready_of(status)[2]
        assert "maxDeletion" in ready_of(status)[2]
        assert len(shelf.objects) == 20
        await stage.apply("SyncPolicy", "customers", stage.policy(sync={"prune": True, "maxDeletionPercent": 60}))
        await stage.until(lambda status: ready_of(status)[0] == "True")
        assert len(shelf.objects) == 10


async def renamed(ground: Ground) -> None:
    shelf = Shelf()
    async with ground.case("renamed", shelf, {"a/resource.json": '{"id": "a", "x": 1}'}) as stage:
        await stage.until(lambda status: ready_of(status)[0] == "True")
        moved = {"customers/b/resource.json": '{"id": "b", "x": 1}'}
        await stage.synced(await stage.push(moved, "customers/a/resource.json"))
        assert shelf.objects == {"b": {"id": "b", "x": 1}}


async def rewritten(ground: Ground) -> None:
    shelf = Shelf()
    async with ground.case("rewritten", shelf, named("a", "b")) as stage:
        await stage.until(lambda status: ready_of(status)[0] == "True")
        await asyncio.to_thread(stage.origin.git, "checkout", "-q", "--orphan", "new")
        await asyncio.to_thread(stage.origin.git, "branch", "-q", "-D", "main")
        await asyncio.to_thread(stage.origin.git, "branch", "-q", "-m", "main")
        revision = await stage.push({"customers/c/resource.json": '{"id": "c"}'}, "customers/a/resource.json")
        await asyncio.to_thread(stage.origin.git, "reflog", "expire", "--expire=now", "--all")
        await asyncio.to_thread(stage.origin.git, "gc", "-q", "--prune=now")
        await stage.synced(revision)
        assert set(shelf.objects) == {"b", "c"}


async def large(ground: Ground) -> None:
    shelf = Shelf()
    files = {**named("a"), "large/resource.json": b'{"id": "large", "x": "' + b"x" * LARGE + b'"}'}
    async with ground.case("large", shelf, files) as stage:
        status = await stage.until(lambda status: ready_of(status)[1] == "ReconcileFailed")
        assert results(status)["/customers/large"] == "failed"
        assert "larger than" in of(status, "/customers/large")
        assert set(shelf.objects) == {"a"}


async def flaky(ground: Ground) -> None:
    names, shelf = [f"c{number}" for number in range(30)], Shelf("one in ten", {"other": {"id": "other"}})
    async with ground.case("flaky", shelf, named(*names)) as stage:
        for number in range(10):
            handled = str(number) if number else None
            status = await stage.until(partial(ended, handled=handled))
            if ready_of(status)[0] == "True":
                break
            # Instead of waiting for the retry.
            assert "HTTP 500" in ready_of(status)[2]
            await stage.annotate("SyncPolicy", "customers", **{"declarest.io/reconcile-requested-at": str(number + 1)})
        assert ready_of(status)[0] == "True"
        assert set(shelf.objects) == {*names, "other"}


async def failing(ground: Ground, fault: str, *words: str) -> None:
    """A server that works, and then answers nonsense: nothing changes, and every resource says why."""
    shelf = Shelf(objects={"other": {"id": "other"}})
    async with ground.case(fault, shelf, named("a", "b", "c")) as stage:
        await stage.until(lambda status: ready_of(status)[0] == "True")
        shelf.fault = fault
        commit = await stage.push({"customers/a/resource.json": '{"id": "a", "x": 1}'}, "customers/b/resource.json")
        await stage.annotate("SyncPolicy", "customers", **{"declarest.io/reconcile-requested-at": "1"})
        status = await stage.until(lambda status: ready_of(status)[1] == "ReconcileFailed")
        for word in words:
            assert word in ready_of(status)[2], ready_of(status)[2]
        assert set(results(status).values()) == {"failed"}
        assert shelf.objects == {each: {"id": each} for each in ("other", "a", "b", "c")}
        assert not shelf.elsewhere
        shelf.fault = ""
        await stage.annotate("SyncPolicy", "customers", **{"declarest.io/reconcile-requested-at": "2"})
        await stage.synced(commit)
        assert shelf.objects == {"a": {"id": "a", "x": 1}, "c": {"id": "c"}, "other": {"id": "other"}}


async def endless(ground: Ground) -> None:
    """A list without an end is given up, and each object is read by itself."""
    shelf = Shelf("pages", {"other": {"id": "other"}})
    async with ground.case("pages", shelf, named("a", "b")) as stage:
        status = await stage.until(partial(ended, handled=None))
        assert ready_of(status)[0] == "True", ready_of(status)
        await stage.synced(await stage.push({}, "customers/b/resource.json"))
        assert set(shelf.objects) == {"a", "other"}


async def deleted_while_down(ground: Ground) -> None:
    """What a policy created stays when it is deleted, and no finalizer waits for a server that is down."""
    shelf = Shelf()
    async with ground.case("down", shelf, named("a")) as stage:
        await stage.until(lambda status: ready_of(status)[0] == "True")
        await stage.apply("ManagedServer", "api", {"http": {"baseURL": "http://127.0.0.1:1"}})
        await stage.until(lambda status: ready_of(status)[1] == "ReconcileFailed")
        await stage.client.delete(SYNC_POLICY.kind.path(stage.namespace, "customers"))
        for _ in range(400):
            found, _next = await stage.client.list(SYNC_POLICY.kind.path(stage.namespace))
            if not found:
                break
            await asyncio.sleep(0.05)
        assert not found
        assert set(shelf.objects) == {"a"}
        await stage.declare()
        await stage.until(lambda status: ready_of(status)[0] == "True")


async def test_every_misbehaviour_is_reported_and_deletes_nothing_of_others(ground: Ground) -> None:
    cases = {
        each.__name__: each(ground)
        for each in (adopted, not_adopted, limited, renamed, rewritten, large, flaky, endless, deleted_while_down)
    }
    for fault, words in (("html", "answered a text in place of the object"), ("redirect", "the server redirects")):
        cases[fault] = failing(ground, fault, words)
    ended = await asyncio.gather(*cases.values(), return_exceptions=True)
    assert not {name: error for name, error in zip(cases, ended, strict=True) if error is not None}
