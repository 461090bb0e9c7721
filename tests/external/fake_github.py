"""GitHub as its REST documentation describes it, as far as workflows go, with its moods.

Runs show in lists only after a while, answers get lost, limits are reached, servers fail, and one dispatch may make two
runs. A run goes through `queued` and `in_progress`, one step each time that it is looked at.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

TOKEN = "ghp_a-very-secret-token"


@dataclass
class Workflow:
    """`run_name` is filled with the inputs; without one the workflow's name stands."""

    inputs: frozenset[str] = frozenset()
    run_name: str = ""
    conclusion: str = "success"
    artifacts: dict[str, Any] = field(default_factory=dict)
    effect: Callable[[dict[str, str]], None] | None = None


@dataclass
class Run:
    id: int
    workflow: str
    title: str
    inputs: dict[str, str]
    created: datetime
    shows_at: float
    looks: int = 0
    conclusion: str | None = None


class FakeGitHub:
    def __init__(self, **workflows: Workflow) -> None:
        self.workflows = {f"{name}.yml": each for name, each in workflows.items()}
        self.runs: dict[int, Run] = {}
        self.url = ""
        self.now_s = datetime(2026, 1, 1, tzinfo=UTC).timestamp
        self.knows_details = True
        self.takes_looks = 2
        self.hides_for_s = 0.0
        self.makes = 1
        self.loses_answers = 0
        self.moods: list[web.Response] = []
        """Answers to the next requests, whatever they ask."""
        self.fails_after_dispatch = False
        self.requests: list[str] = []
        self.leaks: list[str] = []
        self.cancelled: list[int] = []

    def limited(self, *, retry_after: int | None = None, reset_in_s: int | None = None) -> web.Response:
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        if reset_in_s is not None:
            headers |= {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(self.now_s()) + reset_in_s)}
        text = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        return web.json_response({"message": text}, status=403, headers=headers)

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        if request.path.startswith("/blob/"):
            if "Authorization" in request.headers:
                self.leaks.append(request.path)
            return web.Response(body=self._archive(request.path.rpartition("/")[2]))
        self.requests.append(f"{request.method} {request.path}")
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return _told(401, "Bad credentials")
        if self.moods:
            return self.moods.pop(0)
        is_dispatch = request.path.endswith("/dispatches")
        answer = await self._answer(request)
        if is_dispatch and answer.status < 300 and self.loses_answers:
            self.loses_answers -= 1
            assert request.transport is not None
            request.transport.close()
        if is_dispatch and answer.status < 300 and self.fails_after_dispatch:
            return _told(502, "Server Error")
        return answer

    async def _answer(self, request: web.Request) -> web.Response:
        match request.path.strip("/").split("/"):
            case ["repos", "acme", "infra", "actions", "workflows", name, "dispatches"]:
                return self._dispatch(name, await request.json())
            case ["repos", "acme", "infra", "actions", "workflows", name, "runs"]:
                return self._list(name, request)
            case ["repos", "acme", "infra", "actions", "runs", run, *rest] if int(run) in self.runs:
                return self._run(self.runs[int(run)], rest)
            case ["repos", "acme", "infra", "actions", "artifacts", artifact, "zip"]:
                return web.Response(status=302, headers={"Location": f"{self.url}/blob/{artifact}"})
            case _:
                return _told(404, "Not Found")

    def _dispatch(self, name: str, body: dict[str, Any]) -> web.Response:
        workflow = self.workflows.get(name)
        if workflow is None:
            return _told(404, "Not Found")
        if "return_run_details" in body and not self.knows_details:
            return _told(422, 'Invalid request. "return_run_details" is not a permitted key.')
        if unexpected := sorted(body["inputs"].keys() - workflow.inputs):
            return _told(422, f"Unexpected inputs provided: {json.dumps(unexpected)}")
        assert all(isinstance(each, str) for each in body["inputs"].values())
        made = [self._make(name, workflow, body["inputs"]) for _ in range(self.makes)]
        if not body.get("return_run_details"):
            return web.Response(status=204)
        run = made[0]
        urls = {"run_url": f"{self.url}/repos/acme/infra/actions/runs/{run.id}", "html_url": _page(run)}
        return web.json_response({"workflow_run_id": run.id, **urls})

    def _make(self, name: str, workflow: Workflow, inputs: dict[str, str]) -> Run:
        now_s = self.now_s()
        title = workflow.run_name.format_map(defaultdict(str, inputs)) if workflow.run_name else name
        created = datetime.fromtimestamp(int(now_s), UTC)
        run = Run(1000 + len(self.runs), name, title, inputs, created, now_s + self.hides_for_s)
        self.runs[run.id] = run
        return run

    def _list(self, name: str, request: web.Request) -> web.Response:
        assert request.query["event"] == "workflow_dispatch"
        since = datetime.fromisoformat(request.query["created"].removeprefix(">="))
        size, page = int(request.query["per_page"]), int(request.query["page"])
        shown = [
            each
            for each in reversed(self.runs.values())
            if each.workflow == name and each.created >= since and each.shows_at <= self.now_s()
        ]
        runs = [_shown(each) for each in shown[(page - 1) * size : page * size]]
        return web.json_response({"total_count": len(shown), "workflow_runs": runs})

    def _run(self, run: Run, rest: list[str]) -> web.Response:
        workflow = self.workflows[run.workflow]
        match rest:
            case ["jobs"]:
                job = {"name": "build", "status": "completed", "conclusion": run.conclusion}
                times = {"started_at": "2026-01-01T00:00:00Z", "completed_at": "2026-01-01T00:01:00Z"}
                return web.json_response({"total_count": 1, "jobs": [{**job, **times}]})
            case ["artifacts"]:
                artifacts = [self._artifact(run, at, name) for at, name in enumerate(workflow.artifacts)]
                return web.json_response({"total_count": len(artifacts), "artifacts": artifacts})
            case ["cancel"]:
                if run.conclusion is not None:
                    return _told(409, "Cannot cancel a workflow run that is completed.")
                self.cancelled.append(run.id)
                run.conclusion = "cancelled"
                return web.json_response({}, status=202)
            case _:
                run.looks += 1
                if run.conclusion is None and run.looks > self.takes_looks:
                    self._end(run, workflow)
                return web.json_response(_shown(run))

    def _end(self, run: Run, workflow: Workflow) -> None:
        run.conclusion = workflow.conclusion
        if workflow.effect is not None and run.conclusion == "success":
            workflow.effect(run.inputs)

    def _artifact(self, run: Run, at: int, name: str) -> dict[str, Any]:
        artifact = run.id * 10 + at
        url = f"{self.url}/repos/acme/infra/actions/artifacts/{artifact}/zip"
        return {"id": artifact, "name": name, "size_in_bytes": 9, "archive_download_url": url, "expired": False}

    def _archive(self, artifact: str) -> bytes:
        run = self.runs[int(artifact) // 10]
        content = list(self.workflows[run.workflow].artifacts.values())[int(artifact) % 10]
        if isinstance(content, bytes):
            return content
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("readme.txt", "see outputs.json")
            archive.writestr("outputs.json", json.dumps(content))
        return packed.getvalue()


def _shown(run: Run) -> dict[str, Any]:
    status = "completed" if run.conclusion is not None else "queued" if run.looks < 2 else "in_progress"
    return {
        "id": run.id,
        "name": run.workflow,
        "display_title": run.title,
        "event": "workflow_dispatch",
        "status": status,
        "conclusion": run.conclusion,
        "html_url": _page(run),
        "created_at": run.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "run_attempt": 1,
    }


def _page(run: Run) -> str:
    return f"https://github.example/acme/infra/actions/runs/{run.id}"


def _told(status: int, message: str) -> web.Response:
    return web.json_response({"message": message, "documentation_url": "https://docs.example"}, status=status)
