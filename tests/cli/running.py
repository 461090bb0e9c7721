"""The real command, in processes of its own."""

from __future__ import annotations

import http.client
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from click.testing import CliRunner

from homeostat.cli.main import main

HOMEOSTAT = str(Path(sys.executable).with_name("homeostat"))
_READY_LINES = 5


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        return [line.split() for line in self.out.splitlines()]

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


@dataclass(frozen=True, slots=True)
class Cli:
    """Runs `homeostat` with an environment; the data directory is in it."""

    environment: Mapping[str, str]
    program: str = HOMEOSTAT

    def __call__(self, *arguments: str | Path, stdin: str = "") -> Ended:
        done = subprocess.run(
            [self.program, *map(str, arguments)],
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Ended(done.returncode, done.stdout, done.stderr)

    def here(self, *arguments: str | Path, stdin: str = "") -> Ended:
        """The same in this process, for tables of cases: an interpreter a case would take longer than the case."""
        done = CliRunner().invoke(
            main, [*map(str, arguments)], input=stdin, env={**self.environment, "KUBECONFIG": None}
        )
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Ended(done.exit_code, done.stdout, done.stderr)

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.program, *map(str, arguments)],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@dataclass(slots=True)
class Up:
    """A plane started by `homeostat up` that has said it is ready."""

    data: Path
    process: subprocess.Popen[str]
    welcome: list[str]
    cli: Cli
    err: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return self.welcome[0].rpartition(" ")[2]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, float]:
        """Its exit code, and how many seconds it took to end."""
        began = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(30)
        return code, time.monotonic() - began


def make_cli(data: Path) -> Cli:
    """With a home of its own, so that nothing of the machine's user is seen or changed.

    It keeps compiled modules, as an installed program does: to compile them takes longer than most commands.
    """
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH")}
    environment |= {"HOME": str(data.parent), "HOMEOSTAT_DATA": str(data), "LANG": "C.UTF-8"}
    return Cli(environment)


@contextmanager
def running(cli: Cli, *arguments: str) -> Iterator[Up]:
    ports = [word for option in ("--port", "--faces-port") if option not in arguments for word in (option, "0")]
    process = cli.start("up", *ports, *arguments)
    assert process.stdout is not None
    assert process.stderr is not None
    errors: list[str] = []
    reader = threading.Thread(target=errors.extend, args=(process.stderr,))
    reader.start()
    try:
        welcome = [process.stdout.readline().rstrip("\n") for _ in range(_READY_LINES)]
        assert welcome[0], "".join(errors)
        yield Up(Path(cli.environment["HOMEOSTAT_DATA"]), process, welcome, cli, errors)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        reader.join()
        process.stdout.close()
        process.stderr.close()


def trust(up: Up) -> ssl.SSLContext:
    """TLS with the administrator's certificate."""
    context = ssl.create_default_context(cafile=up.data / "pki" / "ca.crt")
    context.load_cert_chain(up.data / "pki" / "admin.crt", up.data / "pki" / "admin.key")
    return context


def https(up: Up) -> http.client.HTTPSConnection:
    return http.client.HTTPSConnection("127.0.0.1", up.port, context=trust(up), timeout=30)
