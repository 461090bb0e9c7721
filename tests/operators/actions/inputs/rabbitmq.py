"""A RabbitMQ of the tests' own: found on PATH or fetched, started as an unprivileged user, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.ports import free_port
from tools.fetch_servers import CACHE, find_program, library_path

_START_TRIES = 2000


class RabbitMq:
    """Clients are `guest`; the node's own ports are on loopback too."""

    def __init__(self, folder: Path, *, is_managed: bool = False) -> None:
        self._folder = folder
        self._program = _program()
        self.port, self.management_port, self._node_port, self._mapper_port = (free_port() for _ in range(4))
        self._process: subprocess.Popen[bytes] | None = None
        self._mapper: subprocess.Popen[bytes] | None = None
        management = f"management.tcp.ip = 127.0.0.1\nmanagement.tcp.port = {self.management_port}\n"
        (folder / "enabled_plugins").write_text("[rabbitmq_management]." if is_managed else "[].")
        (folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\nlog.console.level = warning\n{management if is_managed else ''}"
        )

    @property
    def url(self) -> str:
        return f"amqp://127.0.0.1:{self.port}/"

    @property
    def management_url(self) -> str:
        return f"http://127.0.0.1:{self.management_port}"

    def start(self) -> None:
        # Erlang's own register of nodes; unless told, the server would leave one behind.
        if self._mapper is None:
            self._mapper = self._begin(str(find_program("epmd")))
        self._process = self._begin(str(self._program))
        for _ in range(_START_TRIES):
            if self._process.poll() is not None:
                break
            if self._accepts():
                return
            time.sleep(0.05)
        self.stop()
        raise RuntimeError(f"RabbitMQ does not start: {(self._folder / 'log').read_text()[-2000:]}")

    def stop(self) -> None:
        """As a crash does: what was confirmed is on disk."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(30)
        self._process = None

    def close(self) -> None:
        self.stop()
        if self._mapper is not None:
            self._mapper.kill()
            self._mapper.wait(30)

    def _begin(self, program: str) -> subprocess.Popen[bytes]:
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [*_unprivileged(), program],
                cwd=self._folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _accepts(self) -> bool:
        """It says its name once it is ready, and not as soon as it listens."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1.0) as probe:
                probe.sendall(b"AMQP\x00\x00\x09\x01")
                return len(probe.recv(7)) == 7
        except OSError:
            return False

    def _environment(self) -> dict[str, str]:
        places = [str(self._program.parent), str(CACHE / "usr/lib/erlang/bin"), os.environ.get("PATH", "")]
        return {
            **library_path(),
            "PATH": os.pathsep.join(places),
            "HOME": str(self._folder),
            "LC_ALL": "C.UTF-8",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._mapper_port),
            "RABBITMQ_NODENAME": f"homeostat{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(self._node_port),
            "RABBITMQ_MNESIA_BASE": str(self._folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self._folder / "logs"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONFIG_FILE": str(self._folder / "rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._folder / "enabled_plugins"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1} +S 1:1 +sbwt none",
        }


@contextmanager
def running_rabbitmq(*, is_managed: bool = False) -> Iterator[RabbitMq]:
    """`MissingProgramError` where there is none to start. `is_managed` adds the management API."""
    _program()
    folder = Path(tempfile.mkdtemp(prefix="homeostat-rabbitmq-"))
    try:
        server = RabbitMq(folder, is_managed=is_managed)
        _give_away(folder)
        try:
            server.start()
            yield server
        finally:
            server.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _program() -> Path:
    """The program itself: Debian's wrapper wants to be root or a certain user."""
    wrapper = find_program("rabbitmq-server")
    for root in (Path("/usr/lib/rabbitmq/lib"), CACHE / "usr/lib/rabbitmq/lib"):
        for found in sorted(root.glob("rabbitmq_server-*/sbin/rabbitmq-server")):
            return found
    return wrapper


def _unprivileged() -> list[str]:
    if os.geteuid() != 0:
        return []
    user = pwd.getpwnam("nobody")
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--pdeathsig=KILL"]


def _give_away(folder: Path) -> None:
    if os.geteuid() == 0:
        user = pwd.getpwnam("nobody")
        for path in (folder, *folder.iterdir()):
            os.chown(path, user.pw_uid, user.pw_gid)
