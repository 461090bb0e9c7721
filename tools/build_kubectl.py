"""Builds kubectl of given minor versions from the Go module proxy into `.cache/kubectl/<minor>/kubectl`.

    python -m tools.build_kubectl            # the last four
    python -m tools.build_kubectl 1.34 1.35

The newest patch release of each minor is taken; a version that is there already is left alone. Go finds every
dependency by the requirements of k8s.io/kubectl itself and checks it against the checksum database.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
CACHE = ROOT / ".cache" / "kubectl"
SOURCE = Path(__file__).parent / "kubectl" / "main.go"
MODULE = "k8s.io/kubectl"
MINORS = ("1.34", "1.35", "1.36", "1.37")

_MINOR = re.compile(r"1\.\d+")
_VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")


def newest_release(minor: str, versions: Sequence[str]) -> str:
    """The module version of the newest patch of a minor: v0.34.13 for 1.34."""
    prefix = f"v0.{minor.removeprefix('1.')}."
    patches = [int(version[len(prefix) :]) for version in versions if re.fullmatch(re.escape(prefix) + r"\d+", version)]
    if not patches:
        raise SystemExit(f"{MODULE}: the module proxy has no release of {minor}; it has {versions[-1:]}")
    return f"{prefix}{max(patches)}"


def published_versions() -> list[str]:
    listing = subprocess.run(
        ["go", "list", "-m", "-versions", MODULE], cwd=CACHE, check=True, capture_output=True, text=True
    )
    return listing.stdout.split()[1:]


def build(minor: str, *, within_s: float | None = None) -> Path:
    """The path of kubectl of this minor version; built unless it is there."""
    if not _MINOR.fullmatch(minor):
        raise SystemExit(f"{minor}: not a minor version of Kubernetes; write 1.34")
    target = CACHE / minor / "kubectl"
    if target.exists():
        return target
    if shutil.which("go") is None:
        raise SystemExit("kubectl is built with Go, which is not on PATH; see https://go.dev/dl")
    source = target.parent / "source"
    source.mkdir(parents=True, exist_ok=True)
    release = newest_release(minor, published_versions())
    shutil.copyfile(SOURCE, source / "main.go")
    # Without a go line Go reads the requirements of every module in the graph, which takes many minutes.
    (source / "go.mod").write_text("module homeostat/kubectl\n\ngo 1.21\n")
    subprocess.run(["go", "get", f"{MODULE}@{release}"], cwd=source, check=True)
    flags = " ".join(f"-X {package}.gitVersion=v1.{release.removeprefix('v0.')}" for package in _VERSION_PACKAGES)
    partial = target.with_suffix(".partial")
    subprocess.run(
        ["go", "build", "-mod=mod", "-trimpath", "-ldflags", f"-s -w {flags}", "-o", partial, "."],
        cwd=source,
        check=True,
        timeout=within_s,
    )
    return partial.rename(target)


def main() -> None:
    for minor in sys.argv[1:] or MINORS:
        print(build(minor))


if __name__ == "__main__":
    main()
