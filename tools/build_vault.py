"""Builds a real Vault server from the Go module proxy, for the tests of secret stores against it.

    python -m tools.build_vault

Into `.cache/vault/<version>`; what is there already is kept. It is version 1.14, the last under the Mozilla Public
License, with the KV engine and the logins that Homeostat uses (`tools/vault/main.go`). It takes some fifteen minutes of
one core and 2 GB in Go's own caches, so `make test` does not do it, and skips the tests where it was not done. Exits
with `UNAVAILABLE` without Go or a proxy.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tools.provision import CACHE as ALL
from tools.provision import UnavailableError, fetch_with, provide

VAULT = "1.14.0"
CACHE = ALL / "vault" / VAULT
PROGRAM = CACHE / "vault"
_SOURCE = Path(__file__).parent / "vault" / "main.go"
_BUILD_WITHIN_S = 3600.0


def bring() -> Path:
    if PROGRAM.exists():
        return PROGRAM
    if shutil.which("go") is None:
        raise UnavailableError("there is no Go on PATH; see https://go.dev/dl")
    source = CACHE / "source"
    source.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_SOURCE, source / "main.go")
    (source / "go.mod").write_text(
        f"module homeostat/vault\n\ngo 1.24\n\nrequire github.com/hashicorp/vault v{VAULT}\n"
    )
    # Not `go mod tidy`: it also wants what the tests of Vault import.
    fetch_with(["go", "list", "-mod=mod", "-deps", "."], folder=source, source="the Go module proxy")
    partial = PROGRAM.with_suffix(".partial")
    build = ["go", "build", "-mod=mod", "-trimpath", "-ldflags", "-s -w", "-o", str(partial), "."]
    subprocess.run(build, cwd=source, check=True, timeout=_BUILD_WITHIN_S, env={**os.environ, "CGO_ENABLED": "0"})
    return partial.rename(PROGRAM)


if __name__ == "__main__":
    provide(bring)
