"""Builds a real kube-apiserver and etcd from the Go module proxy, for the tests marked `cluster`.

    python -m tools.build_cluster

Into `.cache/cluster/<versions>`; what is there already is left alone. The first build takes four minutes on two cores
and the time to fetch the sources; later ones, in a fresh clone too, some seconds, for Go keeps both in caches of its
own. Exits with `UNAVAILABLE` where this machine cannot build them: there is no Go, or no module proxy.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
KUBERNETES = "1.34.4"
ETCD = "3.6.16"
CACHE = ROOT / ".cache" / "cluster" / f"kubernetes-{KUBERNETES}-etcd-{ETCD}"
SOURCES = Path(__file__).parent / "cluster"
UNAVAILABLE = 69
"""EX_UNAVAILABLE of sysexits.h."""

_FETCH_WITHIN_S = 600.0
_BUILD_WITHIN_S = 1800.0
_STAGING = re.compile(r"^\s+(k8s\.io/[a-z-]+) v0\.0\.0$", re.MULTILINE)


class UnavailableError(Exception):
    """What is missing on this machine, for people."""


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    version: str
    requirements: Callable[[], str]
    """The lines of its go.mod; to know them may take a download."""
    flags: str = ""


def is_built() -> bool:
    return all((CACHE / each.name).exists() for each in PROGRAMS)


def build(program: Program) -> Path:
    target = CACHE / program.name
    if target.exists():
        return target
    if shutil.which("go") is None:
        raise UnavailableError("there is no Go on PATH; see https://go.dev/dl")
    source = CACHE / f"{program.name}-source"
    source.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(SOURCES / program.name / "main.go", source / "main.go")
    with _step(f"{program.name} {program.version}: fetching its sources"):
        (source / "go.mod").write_text(f"module homeostat/{program.name}\n\ngo 1.24\n\n{program.requirements()}\n")
        _fetch("mod", "tidy", within=source)
    partial = target.with_suffix(".partial")
    command = ["go", "build", "-trimpath", "-ldflags", f"-s -w {program.flags}", "-o", str(partial), "."]
    with _step(f"{program.name} {program.version}: compiling, some minutes the first time"):
        subprocess.run(command, cwd=source, check=True, timeout=_BUILD_WITHIN_S)
    return partial.rename(target)


def _etcd_requirements() -> str:
    return f"require go.etcd.io/etcd/server/v3 v{ETCD}"


def _kubernetes_requirements() -> str:
    """k8s.io/kubernetes means its own staging directory by v0.0.0; outside its tree those are releases of their own."""
    told = _fetch("mod", "download", "-json", f"k8s.io/kubernetes@v{KUBERNETES}", within=CACHE)
    staging = _STAGING.findall(Path(json.loads(told)["GoMod"]).read_text())
    release = "v0." + KUBERNETES.removeprefix("1.")
    lines = [f"require k8s.io/kubernetes v{KUBERNETES}"]
    lines += [f"require {each} {release}" for each in staging]
    lines += [f"replace {each} => {each} {release}" for each in staging]
    return "\n".join(lines)


def _fetch(*arguments: str, within: Path) -> str:
    try:
        done = subprocess.run(
            ["go", *arguments], cwd=within, check=True, capture_output=True, text=True, timeout=_FETCH_WITHIN_S
        )
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"go {arguments[0]} {arguments[1]}: no end within {_FETCH_WITHIN_S:g} s") from error
    except subprocess.CalledProcessError as error:
        told = f"{error.stdout}{error.stderr}".strip()[-1000:]
        raise UnavailableError(f"the Go modules cannot be had:\n{told}") from error
    return done.stdout


@contextmanager
def _step(title: str) -> Iterator[None]:
    print(f"{title} ...", flush=True)
    started = time.monotonic()
    yield
    print(f"  {time.monotonic() - started:.1f} s", flush=True)


PROGRAMS = (
    Program("etcd", ETCD, _etcd_requirements),
    Program(
        "apiserver", KUBERNETES, _kubernetes_requirements, f"-X k8s.io/component-base/version.gitVersion=v{KUBERNETES}"
    ),
)


def main() -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    try:
        for program in PROGRAMS:
            print(build(program).relative_to(ROOT), flush=True)
    except UnavailableError as error:
        print(f"no real cluster is built: {error}", file=sys.stderr)
        print("the tests marked `cluster` are skipped", file=sys.stderr)
        sys.exit(UNAVAILABLE)


if __name__ == "__main__":
    main()
