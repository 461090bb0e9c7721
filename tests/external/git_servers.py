"""Git repositories that tests write to, and servers of them: `git http-backend` behind HTTP, and `sshd`."""

from __future__ import annotations

import asyncio
import base64
import functools
import getpass
import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from aiohttp import web

from homeostat.external.git.access import Remote
from homeostat.external.secrets.credentials import SshKey
from tests.external.git_answers import Answer, Answers, Asked
from tests.external.servers import serving
from tests.ports import free_port
from tools.fetch_servers import find_program, library_path

_WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}

# Whoever pushes to the branch that is checked out changes the branch, and not the files. Nothing is packed: each commit
# and each push would start one more process to see whether it is time.
_CONFIG = """[core]
    repositoryformatversion = 0
    filemode = true
    bare = false
[uploadpack]
    allowAnySHA1InWant = true
[receive]
    denyCurrentBranch = ignore
    autogc = false
[http]
    receivepack = true
[gc]
    auto = 0
[maintenance]
    auto = false
"""


class Origin:
    """A repository with a working tree; `commit` says what all its files are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # As `git init` does, without a process.
        for name in ("hooks", "objects/info", "objects/pack", "refs/heads", "refs/tags"):
            (path / ".git" / name).mkdir(parents=True)
        (path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.configure(_CONFIG)

    def configure(self, text: str) -> None:
        with (self.path / ".git" / "config").open("a") as config:
            config.write(text)

    def git(self, *words: str, stdin: bytes = b"") -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.path.parent), "GIT_CONFIG_NOSYSTEM": "1", **_WHO}
        done = subprocess.run(
            ["git", *words], cwd=self.path, env=environment, input=stdin, capture_output=True, timeout=30
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, text in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def commit(self, files: Mapping[str, str | bytes], *gone: str) -> str:
        self.write(files)
        for name in gone:
            (self.path / name).unlink()
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "change")
        _, is_branch, name = (self.path / ".git" / "HEAD").read_text().strip().rpartition("refs/heads/")
        return self.head(name) if is_branch else name

    def begin(self, *commits: tuple[str, Mapping[str, str | bytes]]) -> None:
        """The first commits, each on top of the one before, by branch and files; with one process for all."""
        stream = list[bytes]()
        before = ""
        for number, (branch, files) in enumerate(commits, start=1):
            stream.append(f"commit refs/heads/{branch}\nmark :{number}\ncommitter a <a@b> now\n".encode())
            stream.append(b"data 7\nchange\n" + before.encode())
            for name, text in files.items():
                content = text if isinstance(text, bytes) else text.encode()
                stream.append(
                    f"M 644 inline {os.path.normpath(name)}\ndata {len(content)}\n".encode() + content + b"\n"
                )
            before = f"from :{number}\n"
            self.write(files)
            (self.path / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
        words = ("-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--date-format=now")
        self.git(*words, stdin=b"".join(stream))

    def heads(self) -> dict[str, str]:
        """The commits of all branches, read from their files."""
        root = self.path / ".git" / "refs" / "heads"
        found = (each for each in sorted(root.rglob("*")) if each.is_file() and each.suffix != ".lock")
        return {str(each.relative_to(root)): each.read_text().strip() for each in found}

    def head(self, branch: str) -> str:
        """Read from its file: refs are not packed here, and a process takes longer."""
        return (self.path / ".git" / "refs" / "heads" / branch).read_text().strip()

    @property
    def file_url(self) -> str:
        return f"file://{self.path}"


class HttpGit:
    """`requests` are the paths that were asked for; without the right password everything is 401."""

    def __init__(self, root: Path, password: str = "") -> None:
        self._root, self._password = root, password
        self._answers = Answers(root)
        self.requests: list[str] = []
        self.redirect = ""
        self.arrived = asyncio.Event()
        self.loses = ""
        """The answer to this path gets lost, after the request was carried out."""
        self.running: set[asyncio.Task[web.Response]] = set()
        self.is_old = False
        """Whether only the first version of the protocol is known."""
        self.interrupt: Callable[[str], None] = lambda _: None
        """Called with a path and its query before a request is carried out, and with `done` before them afterwards."""
        self.held: asyncio.Event | None = None
        """No request is answered before it is set."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request.path)
        self.arrived.set()
        self.interrupt(request.path_qs)
        if self.held is not None:
            await self.held.wait()
        if self.redirect:
            return web.Response(status=302, headers={"Location": f"{self.redirect}{request.path_qs}"})
        given = request.headers.get("Authorization", "").removeprefix("Basic ")
        if self._password and base64.b64decode(given).decode().partition(":")[2] != self._password:
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="git"'})
        # A client that hangs up ends this handler, and not what the server does for it.
        task = asyncio.create_task(self._backend(request))
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        answer = await asyncio.shield(task)
        self.interrupt(f"done {request.path_qs}")
        if request.path == self.loses and request.transport is not None:
            request.transport.abort()
        return answer

    async def _backend(self, request: web.Request) -> web.Response:
        # Read first: a client that hangs up must not leave a process behind.
        body = await request.read()
        protocol = "" if self.is_old else request.headers.get("Git-Protocol", "")
        asked = Asked(request.path, request.query_string, protocol, body)
        state = self._answers.state(asked)
        answer = self._answers.get(asked, state)
        if answer is None:
            answer = await self._run(request, asked)
            self._answers.keep(asked, state, answer)
        return web.Response(status=answer.status, body=answer.content, headers=answer.headers)

    async def _run(self, request: web.Request, asked: Asked) -> Answer:
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self._root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "PATH_INFO": request.path,
            "QUERY_STRING": request.query_string,
            "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": asked.protocol,
        }
        process = await asyncio.create_subprocess_exec(
            _backend_program(),
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            printed, _ = await process.communicate(asked.body)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        head, _, content = printed.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status = int(headers.pop("Status", "200").split()[0])
        return Answer(status, headers, content)


@functools.cache
def _backend_program() -> str:
    """Not by `git`, which is one more process."""
    found = subprocess.run(["git", "--exec-path"], capture_output=True, check=True, timeout=30)
    return f"{found.stdout.decode().strip()}/git-http-backend"


@asynccontextmanager
async def serving_git(
    root: Path, password: str = "", tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[HttpGit, str]]:
    server = HttpGit(root, password)
    async with serving(server.answer, tls) as url:
        yield server, url
        await asyncio.gather(*server.running, return_exceptions=True)


class Sshd:
    """`private_key` may log in; `known_hosts` is what a client has to know of the server."""

    def __init__(self, port: int, private_key: str, known_hosts: str, authorized: Path) -> None:
        self.port, self.private_key, self.known_hosts = port, private_key, known_hosts
        self.user = getpass.getuser()
        self._authorized = authorized

    def remote(self, path: Path) -> Remote:
        url = f"ssh://{self.user}@127.0.0.1:{self.port}{path}"
        return Remote(url, SshKey(self.private_key, self.known_hosts))

    def authorize(self, public_key: str) -> None:
        self._authorized.write_text(self._authorized.read_text() + public_key)


@contextmanager
def running_sshd(folder: Path) -> Iterator[Sshd]:
    program, port = find_program("sshd"), free_port()
    for name in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(command, check=True, timeout=30)
    shutil.copy(folder / "user.pub", folder / "authorized")
    settings = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "authorized",
        "PidFile": folder / "pid",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "prohibit-password",
        "PasswordAuthentication": "no",
        # As by default, but for sure and not at random: more logins at once are dropped.
        "MaxStartups": "8:100:8",
    }
    (folder / "config").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    with (folder / "log").open("wb") as log:
        command = [*_with_user(folder), str(program), "-D", "-e", "-f", str(folder / "config")]
        process = subprocess.Popen(command, env=os.environ | library_path(), stdout=log, stderr=log)
    try:
        _await_port(port, process, folder / "log")
        host = " ".join((folder / "host.pub").read_text().split()[:2])
        yield Sshd(port, (folder / "user").read_text(), f"[127.0.0.1]:{port} {host}\n", folder / "authorized")
    finally:
        process.terminate()
        process.wait(30)


def _with_user(folder: Path) -> list[str]:
    """Where root runs it, OpenSSH wants a user `sshd`, which comes with the package if that is installed: else one is
    made up, in a view of the machine that nobody else has.
    """
    users = Path("/etc/passwd").read_text()
    if os.geteuid() != 0 or "\nsshd:" in users:
        return []
    (folder / "passwd").write_text(f"{users}sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n")
    return ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"', str(folder / "passwd")]


def _await_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(200):
        if process.poll() is not None:
            break
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"sshd does not start: {log.read_text()[-1000:]}")
