"""Builds a real Gitea from the Go module proxy, for the test of pull requests against it.

    python -m tools.build_gitea

Into `.cache/gitea/<version>`; what is there already is kept. It takes some ten minutes of one core and 2 GB in Go's own
caches, so `make test` does not do it, and skips the test where it was not done. Pages need files that only a build with
Node makes; the API and Git over HTTP need none of them. Exits with `UNAVAILABLE` without Go, a C compiler or a proxy.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from tools.provision import CACHE as ALL
from tools.provision import UnavailableError, fetch_with, provide

GITEA = "1.26.0"
CACHE = ALL / "gitea" / GITEA
PROGRAM = CACHE / "gitea"
SOURCE = CACHE / "source"
"""Templates and texts, which the program reads when it starts."""
_BUILD_WITHIN_S = 1800.0


def bring() -> Path:
    if PROGRAM.exists():
        return PROGRAM
    for each in ("go", "gcc"):
        if shutil.which(each) is None:
            raise UnavailableError(f"there is no {each} on PATH")
    CACHE.mkdir(parents=True, exist_ok=True)
    command = ["go", "mod", "download", "-json", f"code.gitea.io/gitea@v{GITEA}"]
    output = fetch_with(command, folder=CACHE, source="the Go module proxy")
    if not SOURCE.exists():
        # Go's own copy is read-only, and it is removed by `go clean -modcache`.
        shutil.copytree(json.loads(output)["Dir"], SOURCE)
    for path in (SOURCE, *SOURCE.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
    partial = PROGRAM.with_suffix(".partial")
    flags = f"-s -w -X main.Version={GITEA}"
    build = ["go", "build", "-tags", "sqlite sqlite_unlock_notify", "-ldflags", flags, "-o", str(partial), "."]
    subprocess.run(build, cwd=SOURCE, check=True, timeout=_BUILD_WITHIN_S)
    return partial.rename(PROGRAM)


if __name__ == "__main__":
    provide(bring)
