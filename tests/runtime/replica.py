"""A replica in a process of its own: says when it writes, on the clock that all processes of a machine share.

python -m tests.runtime.replica KUBECONFIG NAME
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from homeostat.client.base import Response, Transport, UnreachableError
from homeostat.client.connect import open_client
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.objects.errors import ApiError
from homeostat.runtime.leader import Terms
from homeostat.runtime.manager import Manager
from homeostat.runtime.setup import Setup

TERMS = Terms(lease_s=2, renew_s=1.2, retry_s=0.15)
MARKS = "/api/v1/namespaces/default/configmaps"


class Telling:
    """Says of each mark when it is sent."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        if method != "GET" and path.startswith(MARKS):
            sys.stdout.write(f"{time.monotonic()}\n")
            sys.stdout.flush()
        return await self._inner.send(method, path, query=query, body=body, content_type=content_type, accept=accept)

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        return await self._inner.stream(path, query=query, accept=accept)


async def run(kubeconfig: Path, name: str) -> None:
    def register(setup: Setup) -> None:
        async def mark() -> None:
            while True:
                with suppress(ApiError, UnreachableError):
                    await setup.client.merge(f"{MARKS}/mark", {"data": {"by": name}})
                await asyncio.sleep(0.02)

        setup.run(mark)

    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with open_client(load_endpoint([kubeconfig])) as client:
        manager = Manager(client.over(Telling), leases="default", identity=name, terms=TERMS)
        manager.add("marks", register)
        async with manager.running():
            await stop.wait()


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), sys.argv[2]))
