"""Builds a real kube-apiserver and etcd from the Go module proxy, for the tests marked `cluster`.

    python -m tools.build_cluster

Into `.cache/cluster/<versions>`; what is there already is kept. The first build takes four minutes on two cores
and the time to fetch the sources; later ones, in a fresh clone too, some seconds, for Go keeps both in caches of its
own. Exits with `UNAVAILABLE` where this machine cannot build them: there is no Go, or no module proxy.
HOMEOSTAT_TEST_KUBERNETES names another version of Kubernetes, here and for the tests.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.provision import CACHE as ALL
from tools.provision import UnavailableError, fetch_with, provide

KUBERNETES = os.environ.get("HOMEOSTAT_TEST_KUBERNETES", "1.34.4")
ETCD = "3.6.16"
CACHE = ALL / "cluster" / f"kubernetes-{KUBERNETES}-etcd-{ETCD}"
SOURCES = Path(__file__).parent / "cluster"

_BUILD_WITHIN_S = 1800.0
_STAGING = re.compile(r"^\s+(k8s\.io/[a-z-]+) v0\.0\.0$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    version: str
    requirements: Callable[[], str]
    """The lines of its go.mod; to know them may take a download."""
    flags: str = ""


def is_built() -> bool:
    return all((CACHE / each.name).exists() for each in PROGRAMS)


def built_versions() -> list[str]:
    """Of Kubernetes."""
    suffix = f"-etcd-{ETCD}"
    built = (each.parent.name for each in CACHE.parent.glob(f"kubernetes-*{suffix}/apiserver"))
    return sorted(each.removeprefix("kubernetes-").removesuffix(suffix) for each in built)


def build(program: Program) -> Path:
    target = CACHE / program.name
    if target.exists():
        return target
    if shutil.which("go") is None:
        raise UnavailableError("there is no Go on PATH; see https://go.dev/dl")
    source = CACHE / f"{program.name}-source"
    source.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(SOURCES / program.name / "main.go", source / "main.go")
    (source / "go.mod").write_text(f"module homeostat/{program.name}\n\ngo 1.24\n\n{program.requirements()}\n")
    _fetch("mod", "tidy", within=source)
    partial = target.with_suffix(".partial")
    command = ["go", "build", "-trimpath", "-ldflags", f"-s -w {program.flags}", "-o", str(partial), "."]
    subprocess.run(command, cwd=source, check=True, timeout=_BUILD_WITHIN_S)
    return partial.rename(target)


def _etcd_requirements() -> str:
    return f"require go.etcd.io/etcd/server/v3 v{ETCD}"


def kubernetes_requirements(within: Path) -> str:
    """k8s.io/kubernetes means its own staging directory by v0.0.0; outside its tree those are releases of their own."""
    output = _fetch("mod", "download", "-json", f"k8s.io/kubernetes@v{KUBERNETES}", within=within)
    staging = _STAGING.findall(Path(json.loads(output)["GoMod"]).read_text())
    release = "v0." + KUBERNETES.removeprefix("1.")
    lines = [f"require k8s.io/kubernetes v{KUBERNETES}"]
    lines += [f"require {each} {release}" for each in staging]
    lines += [f"replace {each} => {each} {release}" for each in staging]
    return "\n".join(lines)


def _fetch(*arguments: str, within: Path) -> str:
    return fetch_with(["go", *arguments], folder=within, source="the Go module proxy")


PROGRAMS = (
    Program("etcd", ETCD, _etcd_requirements),
    Program(
        "apiserver",
        KUBERNETES,
        lambda: kubernetes_requirements(CACHE),
        f"-X k8s.io/component-base/version.gitVersion=v{KUBERNETES}",
    ),
)


def bring() -> Path:
    CACHE.mkdir(parents=True, exist_ok=True)
    for program in PROGRAMS:
        build(program)
    return CACHE


if __name__ == "__main__":
    provide(bring)
