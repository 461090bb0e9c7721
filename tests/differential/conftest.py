"""A plane and a real kube-apiserver with etcd, side by side."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from homeostat.plane import Settings, open_plane
from homeostat.server.tokens import Tokens
from tests.differential.compare import Conversation
from tools.build_cluster import CACHE

_TOKEN = "differential"
_READY_S = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversation]:
    """A conversation with a real cluster; skipped where none was built."""
    if not (CACHE / "apiserver").exists() or not (CACHE / "etcd").exists():
        pytest.skip("no kube-apiserver and etcd here; `python -m tools.build_cluster` builds them with Go")
    directory = tmp_path_factory.mktemp("cluster")
    clients, peers, port = free_port(), free_port(), free_port()
    (directory / "tokens.csv").write_text(f'{_TOKEN},admin,admin,"system:masters"\n')
    key = directory / "sa.key"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    etcd = [
        str(CACHE / "etcd"),
        f"--data-dir={directory / 'etcd'}",
        f"--listen-client-urls=http://127.0.0.1:{clients}",
        f"--advertise-client-urls=http://127.0.0.1:{clients}",
        f"--listen-peer-urls=http://127.0.0.1:{peers}",
        f"--initial-advertise-peer-urls=http://127.0.0.1:{peers}",
        f"--initial-cluster=default=http://127.0.0.1:{peers}",
    ]
    apiserver = [
        str(CACHE / "apiserver"),
        f"--etcd-servers=http://127.0.0.1:{clients}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--cert-dir={directory / 'certs'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        f"--token-auth-file={directory / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        # Nothing makes service accounts here, and Pods are records on the other side too.
        "--disable-admission-plugins=ServiceAccount,DefaultTolerationSeconds,Priority",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--endpoint-reconciler-type=none",
    ]
    with contextlib.ExitStack() as running:
        for command in (etcd, apiserver):
            log = running.enter_context((directory / f"{Path(command[0]).name}.log").open("wb"))
            process = running.enter_context(subprocess.Popen(command, stdout=log, stderr=log))
            running.callback(process.kill)
        url = f"https://127.0.0.1:{port}"
        _await_ready(url)
        with contextlib.closing(Conversation(url, _TOKEN)) as conversation:
            yield conversation


def _await_ready(url: str) -> None:
    context = ssl._create_unverified_context()
    deadline = time.monotonic() + _READY_S
    while True:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{url}/readyz", context=context, timeout=2).close()
            return
        if time.monotonic() > deadline:
            pytest.fail("the real kube-apiserver did not become ready")
        time.sleep(0.2)


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversation]:
    """A conversation with a plane on a thread of its own."""
    data = tmp_path_factory.mktemp("plane")
    token = Tokens(data / "tokens.json").create("admin", now=time.time(), groups=("system:masters",))
    told: list[str] = []
    is_ready = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
            told.append(plane.url)
            is_ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), name="plane")
    thread.start()
    assert is_ready.wait(10)
    with contextlib.closing(Conversation(told[0], token)) as conversation:
        yield conversation
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)
    loop.close()
