"""The first page after a start imports the dashboard, which takes some tenths of a second: in a thread, so that nobody
else waits, and without the engines, clients and libraries that only some pages need.
"""

from __future__ import annotations

import subprocess
import sys

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
        print([each for each in NOT_FOR_A_FIRST_PAGE if each in sys.modules])
        # Imports are nearly all that it pays.
        assert len(imported[False]) < 450, len(imported[False])
        for path in ("", "/resources", "/objects", "/operators", "/access"):
            assert await ask(face_url(plane, "rest"), f"/dashboard{path}") == b"HTTP/1.1 200 OK", path
    assert "homeostat.web.dashboard.dashboard" in imported[False]
    # The control plane installs its own kinds meanwhile.
    print([each for each in imported[True] if not each.startswith("homeostat.server.")])
    print([each for each in ("homeostat.operators.images.passes", "homeostat.external.git") if each in sys.modules])

with tempfile.TemporaryDirectory() as data:
    asyncio.run(main(Path(data)))
"""


def test_the_event_loop_imports_nothing_for_it_and_no_operator_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, timeout=50)
    assert (done.stdout, done.stderr) == ("[]\n[]\n[]\n", "")
