"""Faces behind real sockets: those of a process, of a plane, and of an operator that is a file of a user's own."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import aiohttp
import pytest
from msgspec.structs import replace

from homeostat.edge.reply import Reply
from homeostat.edge.server import Handler
from homeostat.objects.kind import CONFIG_MAP
from homeostat.plane import FaceChoice, FaceError, Place, Settings, open_plane
from homeostat.runtime.faces.face import Face
from homeostat.runtime.faces.hosting import serve_faces
from homeostat.runtime.faces.listeners import arrange
from homeostat.testing.eventually import eventually
from tests.faces import face_url

PROGRAM = str(Path(sys.executable).with_name("homeostat"))
FILE = str(Path(__file__).with_name("greeting.py"))
_GREETING = Path(FILE).read_text()
HERE = "127.0.0.1"
TWO = (
    Face(name="site", title="site", prefixes=("/",), open="nowhere:app"),
    Face(name="images", title="images", prefixes=("/images",), open="nowhere:app"),
)


class Opened:
    """Opens any face as an app that says its name, and remembers which."""

    def __init__(self) -> None:
        self.names: list[str] = []

    @asynccontextmanager
    async def __call__(self, face: Face) -> AsyncIterator[Handler]:
        self.names.append(face.name)
        yield lambda request: Reply(200, f"{face.name} {request.path}".encode(), "text/plain")


async def ask(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, await answer.text()


async def ask_as(url: str, host: str) -> int:
    async with aiohttp.ClientSession(headers={"Host": host}) as session, session.get(url) as answer:
        return answer.status


async def test_without_tls_a_request_for_another_host_reaches_only_faces_whose_requests_prove_their_sender() -> None:
    opened = Opened()
    hooks = Face(name="hooks", title="hooks", prefixes=("/hooks",), open="nowhere:app", is_signed=True)
    listeners = arrange((*TWO, hooks), FaceChoice(shared=Place(HERE, 0)))
    async with serve_faces(listeners, opened, ssl=None) as (site, *_):
        foreign = [await ask_as(f"{site.url}{path}", "rebound.example:80") for path in ("/docs", "/images", "/hooks")]
        own = [await ask_as(f"{site.url}{path}", "localhost:80") for path in ("/docs", "/images", "/hooks")]
    assert (foreign, own) == ([403, 403, 200], [200, 200, 200])


async def test_faces_share_a_port_and_each_is_opened_by_its_first_request() -> None:
    opened = Opened()
    listeners = arrange(TWO, FaceChoice(shared=Place(HERE, 0)))
    async with serve_faces(listeners, opened, ssl=None) as (site, images):
        assert (site.url, opened.names) == (images.url, [])
        assert await ask(f"{images.url}/images/1") == (200, "images /images/1")
        assert opened.names == ["images"]
        assert await ask(f"{site.url}/") == (200, "site /")
        assert await ask(f"{site.url}/images") == (200, "images /images")
    assert opened.names == ["images", "site"]


async def test_a_face_with_work_of_its_own_is_opened_without_a_request() -> None:
    site, images = TWO
    opened, listeners = (
        Opened(),
        arrange((replace(site, opened_by=("SYNC",)), images), FaceChoice(shared=Place(HERE, 0))),
    )
    async with serve_faces(listeners, opened, ssl=None, environment={"SYNC": "60", "OTHER": "1"}):
        await eventually(lambda: opened.names == ["site"])
    async with serve_faces(listeners, opened, ssl=None, environment={"SYNC": ""}) as (_, served):
        assert await ask(f"{served.url}/images") == (200, "images /images")
    assert opened.names == ["site", "images"]


async def test_a_path_of_no_face_is_not_found() -> None:
    listeners = arrange(TWO[1:], FaceChoice(shared=Place(HERE, 0)))
    async with serve_faces(listeners, Opened(), ssl=None) as (images,):
        assert await ask(f"{images.url}/other") == (404, '{"detail":"Not Found"}')


async def test_a_taken_port_is_reported_if_nobody_asked_for_it_and_an_error_if_somebody_did() -> None:
    with socket.create_server((HERE, 0)) as taken:
        port = taken.getsockname()[1]
        default = [Face(name="site", title="site", prefixes=("/",), open="nowhere:app", port=port)]
        async with serve_faces(arrange(default, FaceChoice()), Opened(), ssl=None) as (site,):
            assert site.url == ""
            assert site.trouble == f"{HERE}:{port} is in use; choose another port with --site-port"
        asked = arrange(TWO, FaceChoice(shared=Place(HERE, port)))
        with pytest.raises(FaceError, match=rf"the site and the images: {HERE}:{port} is in use; .* --faces-port"):
            async with serve_faces(asked, Opened(), ssl=None):
                pass
        single = arrange(TWO[:1], FaceChoice(shared=Place(HERE, port)))
        with pytest.raises(FaceError, match=rf"the site: {HERE}:{port} is in use; .* --faces-port"):
            async with serve_faces(single, Opened(), ssl=None):
                pass


async def test_a_plane_serves_the_faces_of_all_its_operators(tmp_path: Path) -> None:
    settings = Settings(
        data=tmp_path / "plane",
        port=0,
        is_open=True,
        operators=frozenset({"actions", FILE}),
        faces=FaceChoice(shared=Place(HERE, 0)),
    )
    async with open_plane(settings) as plane:
        assert face_url(plane, "hello") == face_url(plane, "rest") != ""
        await plane.client.create(CONFIG_MAP.path("default"), CONFIG_MAP.new("morning"))
        status, text = await ask(f"{face_url(plane, 'hello')}/hello/you")
        assert (status, text.split()[0], "morning" in text) == (200, "/hello/you", True)
        assert await ask(f"{face_url(plane, 'rest')}/api/v1/resource-types") == (200, "[]")


async def test_a_plane_continues_without_a_face_whose_default_port_is_taken(tmp_path: Path) -> None:
    with socket.create_server((HERE, 0)) as taken:
        port = taken.getsockname()[1]
        file = tmp_path / "taken.py"
        file.write_text(_GREETING.replace('prefixes=("/hello",)', f'prefixes=("/hello",), port={port}'))
        operators = frozenset({str(file)})
        settings = Settings(
            data=tmp_path, port=0, is_open=True, operators=operators, faces=FaceChoice(without=frozenset({"dashboard"}))
        )
        async with open_plane(settings) as plane:
            assert face_url(plane, "hello") == ""
            (hello,) = plane.faces
            assert hello.trouble == f"{HERE}:{port} is in use; choose another port with --hello-port"


@contextmanager
def started(*arguments: str) -> Iterator[str]:
    """A command that runs on; what it printed when it was ready."""
    process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        lines: list[str] = []
        while "end it" not in (line := process.stdout.readline()):
            assert line, "".join(lines)
            lines.append(line)
        yield "".join(lines)
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def address(welcome: str, what: str) -> str:
    found = re.search(rf"^  {what} +(\S+)$", welcome, re.MULTILINE)
    assert found is not None, welcome
    return found[1]


async def test_a_face_of_a_users_file_is_served_by_up_and_run_and_has_options_of_its_own(tmp_path: Path) -> None:
    data = tmp_path / "plane"
    up = ("up", "--open", "--data", str(data), "--port", "0")
    with started(*up, "--operators", f"{FILE},actions", "--hello-port", "0", "--rest-port=0") as welcome:
        hello = address(welcome, "greetings")
        assert hello.removesuffix("/hello") != address(welcome, "dashboard").removesuffix("/dashboard")
        assert (await ask(f"{hello}/up"))[0] == 200
        # Of another name: what the plane runs itself is not run a second time.
        copy = tmp_path / "beside.py"
        shutil.copy(FILE, copy)
        run = ("run", "--kubeconfig", str(data / "kubeconfig"), "--health", "none", "--operators", str(copy))
        with started(*run, "--faces-open", "--faces-port", "0") as beside:
            assert (await ask(f"{address(beside, 'greetings')}/run"))[0] == 200
    with started(*up, "--operators", FILE, "--no-hello", "--no-dashboard") as welcome:
        assert "greetings" not in welcome


def test_an_option_of_a_face_that_is_not_there_is_refused(tmp_path: Path) -> None:
    command = [PROGRAM, "up", "--data", str(tmp_path), "--operators", FILE, "--pictures-port", "8001"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    assert '--pictures-port: no operator that is to run has a face "pictures"; there are: dashboard, hello' in " ".join(
        done.stderr.split()
    )
