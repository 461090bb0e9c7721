"""Builds kubectl of given minor versions from the Go module proxy into `.cache/kubectl/<minor>/kubectl`.

    python -m tools.build_kubectl            # the last four
    python -m tools.build_kubectl 1.34 1.35

The newest patch release of each minor is taken; a version that is there already is kept. Go finds every dependency by
the requirements of k8s.io/kubectl itself and checks it against the checksum database. Exits with `UNAVAILABLE` where
there is no Go, or no module proxy.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tools.provision import CACHE as ALL
from tools.provision import MissingProgramError, UnavailableError, fetch_with, provide

CACHE = ALL / "kubectl"
SOURCE = Path(__file__).parent / "kubectl" / "main.go"
MODULE = "k8s.io/kubectl"
MINORS = ("1.34", "1.35", "1.36", "1.37")

_OLDEST_MINOR = 31
_BUILD_WITHIN_S = 1800.0
_MINOR = re.compile(r"1\.\d+")
_VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")


def find_kubectls() -> dict[str, Path]:
    """Every kubectl to test with, by version: those that were built, and unless these are all, the one on PATH."""
    built = _by_version(sorted(CACHE.glob("*/kubectl")))
    return built if built.keys() >= set(MINORS) else {**_by_version(_on_path()), **built}


def find_kubectl() -> Path:
    """The one on PATH, or else one that was built."""
    for program in {**_by_version(_on_path()), **find_kubectls()}.values():
        return program
    raise MissingProgramError(f"no kubectl of 1.{_OLDEST_MINOR} or newer: put one on PATH, or make kubectl, with Go")


def _on_path() -> list[Path]:
    found = shutil.which("kubectl")
    return [Path(found)] if found else []


def _by_version(programs: Sequence[Path]) -> dict[str, Path]:
    return {f"1.{minor}": each for each in programs if (minor := _minor(each)) >= _OLDEST_MINOR}


@cache
def _minor(program: Path) -> int:
    """34 for 1.34; 0 for what does not say."""
    printed = subprocess.run([program, "version", "--client"], check=False, capture_output=True, text=True, timeout=30)
    version = re.search(r"v1\.(\d+)", printed.stdout)
    return int(version[1]) if version else 0


def newest_release(minor: str, versions: Sequence[str]) -> str:
    """The module version of the newest patch of a minor: v0.34.13 for 1.34."""
    prefix = f"v0.{minor.removeprefix('1.')}."
    patches = [int(version[len(prefix) :]) for version in versions if re.fullmatch(re.escape(prefix) + r"\d+", version)]
    if not patches:
        raise SystemExit(f"{MODULE}: the module proxy has no release of {minor}; it has {versions[-1:]}")
    return f"{prefix}{max(patches)}"


def published_versions() -> list[str]:
    return _fetch("list", "-m", "-versions", MODULE, within=CACHE).split()[1:]


def build(minor: str) -> Path:
    """The path of kubectl of this minor version; built unless it is there."""
    if not _MINOR.fullmatch(minor):
        raise SystemExit(f"{minor}: not a minor version of Kubernetes; write 1.34")
    target = CACHE / minor / "kubectl"
    if target.exists():
        return target
    if shutil.which("go") is None:
        raise UnavailableError("there is no Go on PATH; see https://go.dev/dl")
    source = target.parent / "source"
    source.mkdir(parents=True, exist_ok=True)
    release = newest_release(minor, published_versions())
    shutil.copyfile(SOURCE, source / "main.go")
    # Without a go line Go reads the requirements of every module in the graph, which takes many minutes.
    (source / "go.mod").write_text("module homeostat/kubectl\n\ngo 1.21\n")
    _fetch("get", f"{MODULE}@{release}", within=source)
    flags = " ".join(f"-X {package}.gitVersion=v1.{release.removeprefix('v0.')}" for package in _VERSION_PACKAGES)
    partial = target.with_suffix(".partial")
    subprocess.run(
        ["go", "build", "-mod=mod", "-trimpath", "-ldflags", f"-s -w {flags}", "-o", partial, "."],
        cwd=source,
        check=True,
        timeout=_BUILD_WITHIN_S,
    )
    return partial.rename(target)


def _fetch(*arguments: str, within: Path) -> str:
    return fetch_with(["go", *arguments], folder=within, source="the Go module proxy")


def is_here() -> bool:
    return bool(find_kubectls())


def bring() -> Path:
    """One, whichever there is."""
    return find_kubectl() if is_here() else build(MINORS[-1])


if __name__ == "__main__":
    for each in sys.argv[1:] or MINORS:
        provide(lambda minor=each: build(minor))  # type: ignore[misc]
