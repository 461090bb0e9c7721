"""Pull requests of GitHub, GitLab and Gitea as their REST documentation describes them, on real repositories.

A request can be opened for branches that exist and differ, once. Its branch is what git has, so a push to it changes
the request, and a merge makes a commit on the base branch. `moods` are answers to the next requests, whatever they ask.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import unquote

from aiohttp import web

from tests.external.git_servers import Origin

TOKEN = "a-very-secret-token-of-a-forge"
Dialect = Literal["github", "gitlab", "gitea"]


@dataclass
class Request:
    number: int
    branch: str
    base: str
    title: str
    body: str
    state: str = "open"
    labels: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)


class FakePulls:
    """`repositories` by their path, such as `acme/manifests`."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.repositories: dict[str, Origin] = {}
        self.requests: dict[str, list[Request]] = {}
        self.calls: list[str] = []
        self.moods: list[web.Response | Callable[[], None] | None] = []
        """An answer, something that happens before the answer, or None for neither."""
        self.ends_at: tuple[int, bool] | None = None
        """The call from which on nothing is answered, and whether that one is still carried out."""
        self.loses: list[str] = []
        """Methods whose next answer gets lost after it was carried out."""
        self.interrupt: Callable[[str], None] = lambda _: None
        """Called with a method and a path before a request is carried out, and with `done` before them afterwards."""
        self.statuses: list[dict[str, Any]] = []
        self.builds: list[dict[str, Any]] = []

    def add(self, path: str, origin: Origin) -> None:
        self.repositories[path], self.requests[path] = origin, []

    def open_ones(self, path: str) -> list[Request]:
        return [each for each in self.requests[path] if each.state == "open"]

    def merge(self, path: str, request: Request) -> None:
        origin = self.repositories[path]
        base, head = (origin.git("rev-parse", f"refs/heads/{each}") for each in (request.base, request.branch))
        tree = origin.git("merge-tree", "--write-tree", base, head)
        made = origin.git("commit-tree", tree, "-p", base, "-p", head, "-m", f"Merge {request.branch}")
        origin.git("update-ref", f"refs/heads/{request.base}", made)
        request.state = "merged"

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        self.calls.append(f"{request.method} {request.path}")
        given = {"gitlab": ("PRIVATE-TOKEN", TOKEN), "gitea": ("Authorization", f"token {TOKEN}")}
        header, expected = given.get(self.dialect, ("Authorization", f"Bearer {TOKEN}"))
        if request.headers.get(header) != expected:
            return web.json_response({"message": "Bad credentials"}, status=401)
        mood = self.moods.pop(0) if self.moods else None
        if isinstance(mood, web.Response):
            return mood
        if mood is not None:
            mood()
        if self.ends_at is not None and (len(self.calls), False) >= self.ends_at:
            return web.json_response({"message": "Bad Gateway"}, status=502)
        body = await request.json() if request.can_read_body else {}
        self.interrupt(self.calls[-1])
        answer = self._routed(request, body)
        self.interrupt(f"done {self.calls[-1]}")
        if self.ends_at == (len(self.calls), True):
            self.loses.append(request.method)
        if request.method in self.loses and request.transport is not None:
            self.loses.remove(request.method)
            request.transport.abort()
        return answer

    def _routed(self, request: web.Request, body: Mapping[str, Any]) -> web.Response:
        raw = request.rel_url.raw_path
        pattern = r"/projects/([^/]+)/(.*)" if self.dialect == "gitlab" else r"/repos/([^/]+/[^/]+)/(.*)"
        found = re.fullmatch(pattern, raw)
        path = unquote(found[1]) if found else ""
        if found is None or path not in self.repositories:
            # Also for a repository that the token may not see.
            return web.json_response({"message": "Not Found"}, status=404)
        steps = found[2].split("/")
        name = "merge_requests" if self.dialect == "gitlab" else "pulls"
        match request.method, steps:
            case "GET", [given] if given == name:
                return self._listed(path, request.query)
            case "POST", [given] if given == name:
                return self._opened(path, body)
            case "PATCH" | "PUT", [given, number] if given == name:
                return self._edited(path, self.requests[path][int(number) - 1], body)
            case "POST", ["issues", number, "labels"]:
                self.requests[path][int(number) - 1].labels += body["labels"]
                return web.json_response([])
            case "POST", ["issues", number, "comments"] | ["merge_requests", number, "notes"]:
                self.requests[path][int(number) - 1].comments.append(body["body"])
                return web.json_response({}, status=201)
            case "POST", ["statuses", commit]:
                self.statuses.append({"commit": commit, **body})
                return web.json_response({}, status=201)
            case "GET", ["commits", _, "status"]:
                return web.json_response({"state": "", "statuses": self.builds or None})
            case "GET", ["pipelines"]:
                return web.json_response(self.builds)
        return web.json_response({"message": "Not Found"}, status=404)

    def _listed(self, path: str, query: Mapping[str, str]) -> web.Response:
        shown = self.requests[path][::-1]
        match self.dialect:
            case "github":
                owner = path.split("/", maxsplit=1)[0]
                shown = [each for each in shown if f"{owner}:{each.branch}" == query["head"]]
                shown = [each for each in shown if each.base == query["base"]]
                size = int(query.get("per_page", 30))
            case "gitlab":
                shown = [each for each in shown if each.branch == query["source_branch"]]
                shown = [each for each in shown if each.base == query["target_branch"]]
                size = int(query.get("per_page", 20))
            case "gitea":
                shown = [each for each in shown if (each.state == "open") == (query["state"] == "open")]
                size = min(int(query.get("limit", 30)), 50)
        page = int(query.get("page", 1))
        return web.json_response([self._shown(path, each) for each in shown[(page - 1) * size : page * size]])

    def _opened(self, path: str, body: Mapping[str, Any]) -> web.Response:
        gitlab = self.dialect == "gitlab"
        branch, base = (body["source_branch"], body["target_branch"]) if gitlab else (body["head"], body["base"])
        branches = self.repositories[path].git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()
        if branch not in branches or base not in branches:
            return self._invalid("head is invalid")
        if any((each.branch, each.base) == (branch, base) for each in self.open_ones(path)):
            if self.dialect == "github":
                return self._invalid(f"A pull request already exists for acme:{branch}.")
            text = "Another open merge request already exists for this source branch: !1"
            return web.json_response({"message": [text] if gitlab else "pull request already exists"}, status=409)
        text = body["description"] if gitlab else body["body"]
        made = Request(len(self.requests[path]) + 1, branch, base, body["title"], text)
        self.requests[path].append(made)
        return web.json_response(self._shown(path, made), status=201)

    def _invalid(self, text: str) -> web.Response:
        errors = [{"resource": "PullRequest", "code": "custom", "message": text}]
        return web.json_response({"message": "Validation Failed", "errors": errors}, status=422)

    def _edited(self, path: str, request: Request, body: Mapping[str, Any]) -> web.Response:
        request.title = body.get("title", request.title)
        request.body = body.get("description", body.get("body", request.body))
        if body.get("add_labels"):
            request.labels += body["add_labels"].split(",")
        if body.get("state") == "closed" or body.get("state_event") == "close":
            request.state = "closed"
        return web.json_response(self._shown(path, request), status=201 if self.dialect == "gitea" else 200)

    def _shown(self, path: str, request: Request) -> dict[str, Any]:
        url = f"https://forge.example/{path}/pulls/{request.number}"
        if self.dialect == "gitlab":
            state = {"open": "opened"}.get(request.state, request.state)
            return {"iid": request.number, "web_url": url, "state": state, "title": request.title} | {
                "description": request.body
            }
        found: dict[str, Any] = {"number": request.number, "html_url": url, "title": request.title}
        found |= {"body": request.body, "state": "open" if request.state == "open" else "closed"}
        found |= {"merged_at": "2026-01-01T00:00:00Z" if request.state == "merged" else None}
        if self.dialect == "gitea":
            head = {"label": request.branch, "ref": request.branch, "repo_id": 1}
            found |= {"merged": request.state == "merged", "head": head}
            found |= {"base": {"label": request.base, "ref": request.base, "repo_id": 1}}
        return found
