"""The first request of a process imports the HTTP library, which takes a tenth of a second of CPU."""

from __future__ import annotations

import subprocess
import sys

_SCRIPT = """
import asyncio, sys, threading
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import NotSentError
from homeostat.external.rest.request import Request

async def main():
    assert "aiohttp" not in sys.modules
    importers = set()
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == "aiohttp":
                importers.add(threading.current_thread())
    sys.meta_path.insert(0, Finder())
    async with RestClient() as client:
        try:
            await client.send(Request("GET", "http://127.0.0.1:1/"))
        except NotSentError:
            print([each is threading.main_thread() for each in importers])

asyncio.run(main())
"""


def test_the_event_loop_does_not_wait_for_the_import() -> None:
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, timeout=50)
    assert (done.stdout, done.stderr) == ("[False]\n", "")
