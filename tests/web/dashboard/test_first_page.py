"""The first page after a start needs imports. They are made in a thread, so that nobody else waits: few of them for the
login, which is answered before the dashboard is open, and then those of the dashboard, without the engines, clients and
libraries that only some pages need.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest

from homeostat.plane import FaceChoice, Place, Plane, Settings, open_plane
from tests.faces import face_url
from tests.web.dashboard.site import Page, Site

_SCRIPT = """
import asyncio, sys, tempfile, threading
from pathlib import Path
from tests.faces import face_url
from homeostat.plane import FaceChoice, Place, Settings, open_plane

NOT_FOR_A_FIRST_PAGE = (
    "aiohttp", "homeostat.cel", "homeostat.external.oci", "homeostat.external.rest.client",
    "homeostat.objects.schema.validate", "homeostat.operators.actions.controllers",
    "homeostat.operators.policy.operator",
    "importlib.metadata", "jsonschema_rs", "jwt", "yaml",
)
imported = {True: [], False: []}

class Finder:
    def find_spec(self, name, path=None, target=None):
        imported[threading.current_thread() is threading.main_thread()].append(name)

async def ask(url, path):
    host, _, port = url.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET {path} HTTP/1.1\\r\\nHost: {host}:{port}\\r\\nConnection: close\\r\\n\\r\\n".encode())
    answer = await reader.read()
    writer.close()
    return answer.partition(b"\\r\\n")[0]

async def main(data):
    settings = Settings(data=data, port=0, is_open=True, faces=FaceChoice(shared=Place("127.0.0.1", 0)))
    async with open_plane(settings) as plane:
        assert not [each for each in sys.modules if each.startswith("homeostat.web")]
        sys.meta_path.insert(0, Finder())
        assert await ask(face_url(plane, "rest"), "/dashboard/login") == b"HTTP/1.1 200 OK"
        # Imports are nearly all that it pays.
        while "homeostat.web.dashboard.dashboard" not in imported[False]:  # it opens without another request
            await asyncio.sleep(0.01)
        # Other threads import operators meanwhile.
        first = [each for each in imported[False] if each.startswith("homeostat.web")]
        assert first.index("homeostat.web.actions") < 25, first
        assert await ask(face_url(plane, "rest"), "/dashboard/resources") == b"HTTP/1.1 200 OK"
        print([each for each in NOT_FOR_A_FIRST_PAGE if each in sys.modules])
        assert len(imported[False]) < 450, len(imported[False])
        for path in ("", "/resources", "/objects", "/operators", "/access"):
            assert await ask(face_url(plane, "rest"), f"/dashboard{path}") == b"HTTP/1.1 200 OK", path
    # The control plane installs its own kinds meanwhile.
    print([each for each in imported[True] if not each.startswith("homeostat.server.")])
    print([each for each in ("homeostat.operators.images.passes", "homeostat.external.git") if each in sys.modules])

with tempfile.TemporaryDirectory() as data:
    asyncio.run(main(Path(data)))
"""


def test_the_event_loop_imports_nothing_for_it_and_no_operator_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, timeout=50)
    assert (done.stdout, done.stderr) == ("[]\n[]\n[]\n", "")


@pytest.mark.parametrize(("face", "without"), [("rest", []), ("dashboard", ["rest"])])
async def test_the_login_is_the_same_before_and_after_the_dashboard_is_open(
    face: str, without: list[str], data: Path
) -> None:
    choice = FaceChoice(shared=Place("127.0.0.1", 0), without=frozenset(without))
    async with (
        open_plane(Settings(data=data, port=0, faces=choice)) as plane,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False)) as session,
    ):
        site = Site(session, face_url(plane, face))
        home = await site.open()
        assert (home.status, home.headers["Location"]) == (303, "/dashboard/login?next=%2Fdashboard")
        before = await _first_pages(site, plane)
        assert [each.status for each in before] == [200, 200, 200, 404]
        assert ("With username and password" in before[0].source) == (face == "rest")
        # This waits for the dashboard.
        signed_in = await site.send("/login/once", {"code": plane.sign_in.code})
        assert (signed_in.status, signed_in.headers["Location"]) == (303, "/dashboard")
        after = await _first_pages(site, plane)
        shown = [[(each.status, each.source.partition("request_id")[0]) for each in pages] for pages in (before, after)]
        assert shown[0] == shown[1]
        guards = ("Content-Security-Policy", "Cache-Control", "X-Content-Type-Options")
        for old, new in zip(before, after, strict=True):
            assert [old.headers.get(each) for each in guards] == [new.headers.get(each) for each in guards]


async def _first_pages(site: Site, plane: Plane) -> list[Page]:
    login = await site.open("/login?next=/dashboard/resources&ended=session")
    styles = login.document.one("link", rel="stylesheet").attributes["href"].removeprefix("/dashboard")
    paths = (f"/login/once?code={plane.sign_in.code}", styles, f"{styles}x")
    return [login, *[await site.open(each) for each in paths]]
