"""Builds a real kube-apiserver and etcd from the Go module proxy into `.cache/cluster/`.

    python -m tools.build_cluster

What is there already is left alone. The first build takes some ten minutes on two cores.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
CACHE = ROOT / ".cache" / "cluster"
SOURCES = Path(__file__).parent / "cluster"
KUBERNETES = "1.34.4"
ETCD = "3.6.16"

_STAGING = re.compile(r"^\s+(k8s\.io/[a-z-]+) v0\.0\.0$", re.MULTILINE)


def kubernetes_requirements() -> str:
    """k8s.io/kubernetes means its own staging directory by v0.0.0; outside its tree those are releases of their own."""
    module = f"k8s.io/kubernetes@v{KUBERNETES}"
    done = subprocess.run(["go", "mod", "download", "-json", module], check=True, capture_output=True, text=True)
    staging = _STAGING.findall(Path(json.loads(done.stdout)["GoMod"]).read_text())
    release = "v0." + KUBERNETES.removeprefix("1.")
    lines = [f"require k8s.io/kubernetes v{KUBERNETES}"]
    lines += [f"require {each} {release}" for each in staging]
    lines += [f"replace {each} => {each} {release}" for each in staging]
    return "\n".join(lines)


def build(name: str, requirements: str) -> Path:
    target = CACHE / name
    if target.exists():
        return target
    if shutil.which("go") is None:
        raise SystemExit(f"{name} is built with Go, which is not on PATH; see https://go.dev/dl")
    source = CACHE / f"{name}-source"
    source.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(SOURCES / name / "main.go", source / "main.go")
    (source / "go.mod").write_text(f"module homeostat/{name}\n\ngo 1.24\n\n{requirements}\n")
    subprocess.run(["go", "mod", "tidy"], cwd=source, check=True)
    partial = target.with_suffix(".partial")
    subprocess.run(["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", partial, "."], cwd=source, check=True)
    return partial.rename(target)


def main() -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    print(build("etcd", f"require go.etcd.io/etcd/server/v3 v{ETCD}"))
    print(build("apiserver", kubernetes_requirements()))


if __name__ == "__main__":
    main()
