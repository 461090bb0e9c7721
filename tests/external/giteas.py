"""A real Gitea with one user, for tests that check whether our fakes answer as it does."""

from __future__ import annotations

import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.ports import free_port
from tools.build_gitea import PROGRAM, SOURCE

USER, PASSWORD = "bot", "a-password-of-a-bot"
_SETTINGS = """RUN_MODE = prod
RUN_USER = {user}
WORK_PATH = {folder}
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
STATIC_ROOT_PATH = {source}
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = {folder}/gitea.db
[security]
INSTALL_LOCK = true
SECRET_KEY = x
[log]
LEVEL = warn
[indexer]
ISSUE_INDEXER_TYPE = db
[actions]
ENABLED = false
"""


@dataclass(frozen=True)
class RealGitea:
    url: str
    token: str

    @property
    def api(self) -> str:
        return f"{self.url}/api/v1"


@contextmanager
def running_gitea(folder: Path) -> Iterator[RealGitea]:
    port, settings = free_port(), folder / "app.ini"
    user = "root" if os.geteuid() == 0 else os.environ.get("USER", "git")
    settings.write_text(_SETTINGS.format(user=user, folder=folder, port=port, source=SOURCE))
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "USER": user}
    environment["GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT"] = "true"

    def gitea(*words: str) -> str:
        command = [str(PROGRAM), "-c", str(settings), *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
        return done.stdout.strip().splitlines()[-1]

    gitea("migrate")
    gitea(
        *("admin", "user", "create", "--admin", "--username", USER, "--password", PASSWORD),
        *("--email", "bot@example.org", "--must-change-password=false"),
    )
    token = gitea("admin", "user", "generate-access-token", "--username", USER, "--scopes", "all", "--raw")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([str(PROGRAM), "-c", str(settings), "web"], env=environment, stdout=log, stderr=log)
    try:
        _await(f"http://127.0.0.1:{port}/api/v1/version", process, folder / "log")
        yield RealGitea(f"http://127.0.0.1:{port}", token)
    finally:
        process.terminate()
        process.wait(30)


def _await(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(url, timeout=30):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise RuntimeError(f"gitea does not start: {log.read_text()[-1000:]}")
