"""What a plane of a demo talks to: a git server, a registry and the admin API of a broker, on one port of loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final

from homeostat.cli.demo.broker import Broker
from homeostat.cli.demo.git_server import GitServer
from homeostat.cli.demo.registry import Registry
from homeostat.edge.limits import MIB, Limits
from homeostat.edge.routes import Routes
from homeostat.edge.server import serve

_STORY: Final = files("homeostat.cli.demo") / "story"
_STOP_WITHIN_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class World:
    folder: Path
    port: int
    commits: list[str]
    """Of the application `web`, the oldest first."""
    git: GitServer

    def fill(self, text: str) -> str:
        """A file of the story with the addresses of this run."""
        host = f"127.0.0.1:{self.port}"
        return Template(text).safe_substitute(
            url=f"http://{host}", host=host, folder=str(self.folder), running=self.commits[0]
        )

    def write_story(self, folder: Path) -> list[Path]:
        """Write the objects of the story, and those that fix it, into `folder`; the files to apply, in order."""
        for below in (".", "fixes", "contract"):
            (folder / below).mkdir(parents=True, exist_ok=True)
            for each in (_STORY / below).iterdir():
                if each.is_file():
                    (folder / below / each.name).write_text(self.fill(each.read_text("utf-8")), "utf-8")
        return sorted(folder.glob("*.yaml"))


@asynccontextmanager
async def open_world(folder: Path) -> AsyncIterator[World]:
    git, registry, broker = GitServer(folder / "git"), Registry(), Broker()
    routes = Routes()
    for part in (git, registry, broker):
        part.add_routes(routes)
    server = await serve(routes, limits=Limits(body_bytes=16 * MIB))
    try:
        commits = await git.create("web", {"README.md": "The web application.\n"}, "Start", "Show prices with tax")
        world = World(folder, server.port, commits, git)
        await git.create("manifests", {"web.yaml": world.fill(_read("git/manifests-web.yaml"))}, "Deploy web")
        topics = {f"topics/{name}/resource.json": _topic(name, 7) for name in ("orders", "payments")}
        await git.create("topics", topics, "Declare topics")
        for tag in commits:
            registry.add_image("shop/web", tag)
        # Somebody changed it by hand.
        broker.collections["topics"] = {
            "orders": {"name": "orders", "retentionDays": 7, "partitions": 3},
            "payments": {"name": "payments", "retentionDays": 1, "partitions": 3},
        }
        yield world
    finally:
        await server.stop(_STOP_WITHIN_S)


def _topic(name: str, days: int) -> str:
    return f'{{"name": "{name}", "retentionDays": {days}, "partitions": 3}}\n'


def _read(name: str) -> str:
    return (_STORY / name).read_text("utf-8")
