"""GitLab as its REST documentation describes it, as far as pipelines go, with its moods."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

TOKEN = "glpat-a-very-secret-token"
_PROJECT = "/api/v4/projects/acme%2Finfra"


@dataclass
class Made:
    id: int
    ref: str
    variables: dict[str, str]
    created: datetime
    looks: int = 0
    status: str = "created"


class FakeGitLab:
    def __init__(self, effect: Callable[[dict[str, str]], None] = lambda _: None) -> None:
        self.effect = effect
        self.pipelines: dict[int, Made] = {}
        self.now_s = datetime(2026, 1, 1, tzinfo=UTC).timestamp
        self.takes_looks = 2
        self.loses_answers = 0
        self.ends_with = "success"
        self.moods: list[web.Response] = []
        self.files: dict[str, dict[str, Any]] = {}
        """What the jobs leave, by the action that they were told."""
        self.cancelled: list[int] = []

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        path = request.rel_url.raw_path
        if request.headers.get("PRIVATE-TOKEN") != TOKEN:
            return web.json_response({"message": "401 Unauthorized"}, status=401)
        if self.moods:
            return self.moods.pop(0)
        if not path.startswith(_PROJECT):
            return web.json_response({"message": "404 Project Not Found"}, status=404)
        if request.method == "POST" and path == f"{_PROJECT}/pipeline":
            return await self._start(request)
        return self._answer(path.removeprefix(_PROJECT).strip("/").split("/"), request)

    async def _start(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body["ref"] != "main":
            return web.json_response({"message": {"base": ["Reference not found"]}}, status=400)
        variables = {each["key"]: each["value"] for each in body["variables"]}
        created = datetime.fromtimestamp(int(self.now_s()), UTC)
        made = self.pipelines[len(self.pipelines) + 1] = Made(len(self.pipelines) + 1, "main", variables, created)
        if self.loses_answers:
            self.loses_answers -= 1
            assert request.transport is not None
            request.transport.close()
        return web.json_response(_shown(made), status=201)

    def _answer(self, steps: list[str], request: web.Request) -> web.Response:
        match steps:
            case ["pipelines"]:
                since = datetime.fromisoformat(request.query["updated_after"])
                assert request.query["source"] == "api"
                newest = reversed(self.pipelines.values())
                return web.json_response([_shown(each) for each in newest if each.created >= since])
            case ["pipelines", at, "variables"]:
                made = self.pipelines[int(at)]
                variables = [{"key": key, "value": value} for key, value in made.variables.items()]
                return web.json_response(variables)
            case ["pipelines", at, "jobs"]:
                job = {"id": int(at) * 10, "name": "run", "status": "success", "finished_at": "2026-01-01T00:00:00Z"}
                return web.json_response([{**job, "artifacts_file": {"filename": "artifacts.zip", "size": 9}}])
            case ["pipelines", at, "cancel"]:
                self.cancelled.append(int(at))
                self.pipelines[int(at)].status = "canceled"
                return web.json_response(_shown(self.pipelines[int(at)]))
            case ["pipelines", at]:
                return self._look(self.pipelines[int(at)])
            case ["jobs", at, "artifacts", "homeostat-outputs.json"]:
                action = self.pipelines[int(at) // 10].variables["HOMEOSTAT_ACTION"]
                if action in self.files:
                    return web.Response(text=json.dumps(self.files[action]))
        return web.json_response({"message": "404 Not Found"}, status=404)

    def _look(self, made: Made) -> web.Response:
        made.looks += 1
        if made.status in ("created", "running"):
            made.status = "running" if made.looks <= self.takes_looks else self.ends_with
            if made.status == "success":
                self.effect(made.variables)
        return web.json_response(_shown(made))


def _shown(made: Made) -> dict[str, Any]:
    return {
        "id": made.id,
        "status": made.status,
        "source": "api",
        "ref": made.ref,
        "web_url": f"https://gitlab.example/acme/infra/-/pipelines/{made.id}",
        "created_at": made.created.isoformat(),
    }
