"""Replicas of a plane as their users start them: `homeostat up` on one PostgreSQL and one data directory."""

from __future__ import annotations

import http.client
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

from homeostat.client.base import Client
from homeostat.client.endpoint.endpoint import Endpoint
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.client.http.transport import open_transport
from tests.ports import free_port

PROGRAM = str(Path(sys.executable).with_name("homeostat"))
_READY_WITHIN_S = 30.0
_STOP_WITHIN_S = 10.0


class Replica:
    """One process on a port that it keeps over restarts. What it prints is in `log`."""

    def __init__(self, data: Path, database: str, *arguments: str, program: Sequence[str] = (PROGRAM,)) -> None:
        self.data, self.port = data, free_port()
        given = ["--data", str(data), "--database", database, "--port", str(self.port), "--faces-port", "0"]
        self._command = [*program, "up", *given, *arguments]
        self.log = data.parent / f"replica-{self.port}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def endpoint(self) -> Endpoint:
        """As the administrator."""
        return replace(load_endpoint([self.data / "kubeconfig"]), server=self.url)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def attach(self, process: subprocess.Popen[bytes]) -> None:
        """One that somebody else has started on this port."""
        self._process = process

    def begin(self) -> None:
        """Without waiting until it serves. The test process must outlive it: it is not ended by itself."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, env=environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def wait_until_ready(self) -> None:
        assert self.becomes_ready(), f"the replica does not serve: {self.said()}"

    def becomes_ready(self) -> bool:
        """False for one that ends instead, or takes too long."""
        ends_at = time.monotonic() + _READY_WITHIN_S
        while self.readiness()[0] != 200:
            if not self.is_running or time.monotonic() > ends_at:
                return False
            time.sleep(0.05)
        return True

    def readiness(self) -> tuple[int, str]:
        """What `/readyz` answers to somebody without credentials; 0 for no answer."""
        try:
            return self._read("/readyz", ssl._create_unverified_context())
        except (OSError, http.client.HTTPException):
            return 0, ""

    def metrics(self) -> str:
        context = ssl.create_default_context(cafile=self.data / "pki" / "ca.crt")
        context.load_cert_chain(self.data / "pki" / "admin.crt", self.data / "pki" / "admin.key")
        return self._read("/metrics", context)[1]

    def _read(self, path: str, context: ssl.SSLContext) -> tuple[int, str]:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=5)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def kill(self) -> None:
        """As a power cut would end it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def pause(self) -> None:
        """As a machine that swaps, or a virtual one that is moved: it is there, and does nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def stop(self) -> int:
        """Its exit code."""
        assert self._process is not None
        self._process.terminate()
        try:
            return self._process.wait(_STOP_WITHIN_S)
        finally:
            self.kill()

    def wait(self) -> int:
        """Until it ends by itself."""
        assert self._process is not None
        return self._process.wait(_READY_WITHIN_S)

    def said(self) -> str:
        return self.log.read_text(errors="replace")


def environment() -> dict[str, str]:
    """With compiled modules kept, as an installed program does."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@contextmanager
def running_replicas(data: Path, database: str, *arguments: str, count: int = 3) -> Iterator[Sequence[Replica]]:
    """Started at once on an empty database and directory, as an orchestrator does."""
    replicas = [Replica(data, database, *arguments) for _ in range(count)]
    try:
        for replica in replicas:
            replica.begin()
        for replica in replicas:
            replica.wait_until_ready()
        yield replicas
    finally:
        for replica in replicas:
            replica.kill()


@asynccontextmanager
async def open_clients(endpoints: Sequence[Endpoint]) -> AsyncIterator[list[Client]]:
    """Clients that do not try again, so that no refusal is hidden."""
    async with AsyncExitStack() as stack:
        yield [Client(await stack.enter_async_context(open_transport(each))) for each in endpoints]
