"""Builds programs of the Kubernetes world that the tests run against the plane, unchanged.

    python -m tools.build_programs                  # all but the last
    python -m tools.build_programs helm operator-go
    python -m tools.build_programs e2e.test         # Kubernetes' own tests, to run by hand: docs/compatibility.md

kube-controller-manager, kube-scheduler and helm come from the Go module proxy, and so do the libraries of our own small
operators in `tests/programs`: one with controller-runtime, one with kube-rs, whose crates Cargo fetches. Into
`.cache/programs/<name>-<version>`; what is there already is kept. All of them take some fifteen minutes on two cores,
so `make test` does not build them, and skips the tests that need them. Exits with `UNAVAILABLE` without Go or Cargo,
or without the network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.build_cluster import KUBERNETES, kubernetes_requirements
from tools.provision import CACHE as ALL
from tools.provision import ROOT, MissingProgramError, UnavailableError, fetch_with, provide

HELM = "3.19.5"
CONTROLLER_RUNTIME = "0.22.5"
KUBE_RS = "5.0.0"
CACHE = ALL / "programs"

_SOURCES = Path(__file__).parent / "programs"
_OPERATORS = ROOT / "tests" / "programs"
_BUILD_WITHIN_S = 3600.0
_RELEASE = "v0." + KUBERNETES.removeprefix("1.")


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    version: str
    build: Callable[[Path, Path], None]
    """Of a folder to work in and the file to write."""
    tool: str = "Go"

    @property
    def path(self) -> Path:
        return CACHE / f"{self.name}-{self.version}" / self.name


def find_program(name: str) -> Path:
    """Its path; `MissingProgramError` names the command that builds it."""
    program = _BY_NAME[name]
    if not program.path.exists():
        raise MissingProgramError(f"no {name}: make programs, with {program.tool}")
    return program.path


def build(name: str) -> Path:
    program = _BY_NAME.get(name)
    if program is None:
        raise SystemExit(f"{name}: not one of {', '.join(_BY_NAME)}")
    if program.path.exists():
        return program.path
    if shutil.which(program.tool.lower()) is None:
        raise UnavailableError(f"there is no {program.tool} on PATH")
    source = program.path.parent / "source"
    source.mkdir(parents=True, exist_ok=True)
    partial = program.path.with_suffix(".partial")
    program.build(source, partial)
    return partial.rename(program.path)


def _kubernetes(name: str) -> Callable[[Path, Path], None]:
    def build(source: Path, target: Path) -> None:
        shutil.copyfile(_SOURCES / name / "main.go", source / "main.go")
        (source / "go.mod").write_text(f"module homeostat/{name}\n\ngo 1.24\n\n{kubernetes_requirements(source)}\n")
        _fetch("mod", "tidy", within=source)
        _compile(source, ".", target, f"-X k8s.io/component-base/version.gitVersion=v{KUBERNETES}")

    return build


def _end_to_end_tests(source: Path, target: Path) -> None:
    (source / "go.mod").write_text(f"module homeostat/e2e\n\ngo 1.24\n\n{kubernetes_requirements(source)}\n")
    flags = f"-s -w -X k8s.io/component-base/version.gitVersion=v{KUBERNETES}"
    # Without vet, which takes longer than to compile.
    command = ["go", "test", "-c", "-vet=off", "-mod=mod", "-trimpath", "-ldflags", flags, "-o", str(target)]
    subprocess.run([*command, "k8s.io/kubernetes/test/e2e"], cwd=source, check=True, timeout=_BUILD_WITHIN_S)


def _helm(source: Path, target: Path) -> None:
    lines = ["module homeostat/helm", "go 1.24.0", "tool helm.sh/helm/v3/cmd/helm"]
    lines += [f"require helm.sh/helm/v3 v{HELM}"]
    # The same libraries as the other programs have, for Go to compile them once.
    lines += [f"require k8s.io/{each} {_RELEASE}" for each in ("client-go", "kubectl", "apiextensions-apiserver")]
    (source / "go.mod").write_text("\n\n".join(lines) + "\n")
    _fetch("list", "-mod=mod", "-deps", "helm.sh/helm/v3/cmd/helm", within=source)
    _compile(source, "helm.sh/helm/v3/cmd/helm", target, f"-X helm.sh/helm/v3/internal/version.version=v{HELM}")


def _go_operator(source: Path, target: Path) -> None:
    for name in ("main.go", "go.mod", "go.sum"):
        shutil.copyfile(_OPERATORS / "operator-go" / name, source / name)
    _fetch("mod", "download", within=source)
    _compile(source, ".", target, "")


def _rust_operator(source: Path, target: Path) -> None:
    shutil.copytree(_OPERATORS / "operator-rust", source, dirs_exist_ok=True)
    fetch_with(["cargo", "fetch"], folder=source, source="the registry of crates")
    subprocess.run(["cargo", "build", "--offline"], cwd=source, check=True, timeout=_BUILD_WITHIN_S)
    shutil.copy2(source / "target" / "debug" / "operator-rust", target)


def _compile(source: Path, package: str, target: Path, flags: str) -> None:
    command = ["go", "build", "-mod=mod", "-trimpath", "-ldflags", f"-s -w {flags}", "-o", str(target), package]
    subprocess.run(command, cwd=source, check=True, timeout=_BUILD_WITHIN_S, env=os.environ)


def _fetch(*arguments: str, within: Path) -> str:
    return fetch_with(["go", *arguments], folder=within, source="the Go module proxy")


PROGRAMS = (
    Program("controller-manager", KUBERNETES, _kubernetes("controller-manager")),
    Program("scheduler", KUBERNETES, _kubernetes("scheduler")),
    Program("helm", HELM, _helm),
    Program("operator-go", CONTROLLER_RUNTIME, _go_operator),
    Program("operator-rust", KUBE_RS, _rust_operator, tool="Cargo"),
)
_BY_HAND = (Program("e2e.test", KUBERNETES, _end_to_end_tests),)
"""Which no test runs."""
_BY_NAME = {each.name: each for each in (*PROGRAMS, *_BY_HAND)}


def main(names: Sequence[str]) -> None:
    for each in names or [each.name for each in PROGRAMS]:
        provide(lambda name=each: build(name))  # type: ignore[misc]


if __name__ == "__main__":
    main(sys.argv[1:])
