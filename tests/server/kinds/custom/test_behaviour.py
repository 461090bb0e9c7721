"""The engine of schemas is imported beside the event loop, with the first write of a custom kind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import asyncio, sys, threading
from pathlib import Path
from homeostat.testing import open_test_plane
from tests.api.objects import CRDS, WIDGETS, definition, widget

importers = {}

def note(event, arguments):
    if event == "import":
        importers.setdefault(arguments[0], threading.current_thread().name)

sys.addaudithook(note)

async def main():
    async with open_test_plane(Path(sys.argv[1])) as plane:
        await plane.client.create(CRDS, definition())
        assert "homeostat.objects.schema.validate" not in importers, "an idle plane has no use for it"
        await plane.client.create(WIDGETS, widget("w"))
    print(importers["homeostat.objects.schema.validate"])

asyncio.run(main())
"""


def test_the_first_write_of_a_custom_kind_imports_the_engine_in_a_thread(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.startswith("homeostat-large-calls"), done.stderr
