"""Git repositories over HTTP: `git http-backend`, which comes with git, behind a route."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from homeostat.edge.handler import Answer
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.routes import Routes

_WITHIN_S: Final = 30.0
_AUTHOR: Final = ("-c", "user.name=Demo", "-c", "user.email=demo@example.org")
_NEUTRAL: Final = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


class GitServer:
    """Serves the bare repositories of a directory at `/git/NAME.git`; everybody may push."""

    def __init__(self, root: Path) -> None:
        self._root, self._pushes = root, dict[str, asyncio.Event]()
        root.mkdir(parents=True, exist_ok=True)

    def add_routes(self, routes: Routes) -> None:
        for method in ("GET", "POST"):
            routes.add(method, "/git/{path:path}", self._serve)

    async def create(self, name: str, files: Mapping[str, str], *messages: str) -> list[str]:
        """A repository with a commit of `files` for each message; their ids, the oldest first."""
        work = self._root / f"{name}.work"
        work.mkdir()
        await _git(work, "init", "-q", "-b", "master")
        for path, text in files.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(text, "utf-8")
        await _git(work, "add", "--all")
        commits = []
        for message in messages:
            await _git(work, *_AUTHOR, "commit", "-q", "--allow-empty", "-m", message)
            commits.append((await _git(work, "rev-parse", "HEAD")).strip())
        bare = self._root / f"{name}.git"
        await _git(self._root, "clone", "-q", "--bare", str(work), str(bare))
        await _git(bare, "config", "http.receivepack", "true")
        return commits

    async def pushed(self, name: str) -> None:
        """Returns after the next push to a repository, or at once if there was one since the last return."""
        event = self._pushes.setdefault(name, asyncio.Event())
        await event.wait()
        event.clear()

    async def read(self, name: str, path: str) -> bytes:
        """A file of the newest commit; empty if it has no such file."""
        command = ["git", "-C", str(self._root / f"{name}.git"), "show", f"HEAD:{path}"]
        return await _run(command, {**os.environ, **_NEUTRAL})

    async def _serve(self, request: Request, captured: Mapping[str, str]) -> Answer:
        environment = {
            **_NEUTRAL,
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self._root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": f"/{captured['path']}",
            "QUERY_STRING": request.query,
            "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": request.headers.get("content-type", ""),
            "HTTP_CONTENT_ENCODING": request.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
        }
        printed = await _run(["git", "http-backend"], environment, request.body)
        head, _, body = printed.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if ": " in line)
        status = int(fields.pop("Status", "200").split()[0])
        content_type = fields.pop("Content-Type", "text/plain")
        fields.pop("Content-Length", None)
        if request.method == "POST" and captured["path"].endswith(".git/git-receive-pack"):
            self._pushes.setdefault(captured["path"].partition(".git/")[0], asyncio.Event()).set()
        return Reply(status, body, content_type, tuple(fields.items()))


async def _git(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, **_NEUTRAL}
    return (await _run(["git", "-C", str(folder), *arguments], environment)).decode()


async def _run(command: list[str], environment: Mapping[str, str], body: bytes = b"") -> bytes:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, env=dict(environment), stdin=pipe, stdout=pipe)
    try:
        async with asyncio.timeout(_WITHIN_S):
            printed, _ = await process.communicate(body)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return printed
