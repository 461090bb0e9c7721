"""A library that takes long to import holds up nobody, however many need it at once."""

from __future__ import annotations

import asyncio
import sys
import time
from importlib import import_module
from pathlib import Path
from uuid import uuid4

import pytest

from homeostat.edge.imports import import_in_thread


async def test_callers_that_need_a_module_while_it_is_imported_hold_up_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"slow_to_import_{uuid4().hex}"  # once for each event loop that the test runs on
    (tmp_path / f"{name}.py").write_text("import time; time.sleep(0.5); READY = True")
    monkeypatch.syspath_prepend(tmp_path)

    async def use() -> bool:
        await import_in_thread(name)
        return bool(import_module(name).READY)

    users = [asyncio.ensure_future(use())]
    longest, began = 0.0, time.perf_counter()
    while not users[0].done():
        if len(users) < 5 and name in sys.modules:
            users.append(asyncio.ensure_future(use()))
        await asyncio.sleep(0.001)
        longest, began = max(longest, time.perf_counter() - began), time.perf_counter()
    assert all(await asyncio.gather(*users))
    assert len(users) == 5
    assert longest < 0.4
