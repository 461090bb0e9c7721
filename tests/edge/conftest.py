"""The edge runs on uvloop, and on plain asyncio where that has no wheel: every fact must hold on both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest

from homeostat.edge.loop import loop_factory
from homeostat.edge.tls.context import server_context
from tests.edge.tls.authority import Authority, issue


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": loop_factory(), "asyncio": asyncio.new_event_loop}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    directory = tmp_path_factory.mktemp("tls")
    ca = issue(directory, "ca")
    server = issue(directory, "server", ca)
    context = server_context(server.certificate_file, server.key_file, ca.certificate_file)
    return Authority(directory, ca, context)
