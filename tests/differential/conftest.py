"""A plane and a real kube-apiserver with etcd, side by side."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from homeostat.plane import Settings, open_plane
from homeostat.server.access.tokens.file import Tokens
from tests.cluster.running import TOKEN, Cluster
from tests.differential.compare import Conversation


@pytest.fixture(scope="module")
def real(cluster: Cluster) -> Iterator[Conversation]:
    """Anew in each file: between two files another may kill and revive the server that all share."""
    with contextlib.closing(Conversation(cluster.url, TOKEN)) as conversation:
        yield conversation


class Served(NamedTuple):
    """A plane that serves."""

    url: str
    token: str
    kubeconfig: Path


@pytest.fixture(scope="module")
def ours(served: Served) -> Iterator[Conversation]:
    with contextlib.closing(Conversation(served.url, served.token)) as conversation:
        yield conversation


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A plane on a thread of its own."""
    data = tmp_path_factory.mktemp("plane")
    token = Tokens(data / "tokens.json").create("admin", now=time.time(), groups=("system:masters",))
    told: list[Served] = []
    is_ready = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        async with open_plane(Settings(data=data, port=0, operators=frozenset(), service_cidr="10.0.0.0/24")) as plane:
            told.append(Served(plane.url, token, plane.kubeconfig_path))
            is_ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), name="plane")
    thread.start()
    assert is_ready.wait(30)
    yield told[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join(30)
    loop.close()
