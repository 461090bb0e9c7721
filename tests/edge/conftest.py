"""The edge runs on uvloop, and on plain asyncio where that has no wheel: every fact must hold on both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest

from homeostat.edge.loop import loop_factory


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": loop_factory(), "asyncio": asyncio.new_event_loop}
