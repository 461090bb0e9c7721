"""`homeostat policy check` of many files, and beside it gatekeeper's `gator test` on the same files by the same rules.

gator is measured if it was built, which `build_gator` does from the Go module proxy; both must find the same, or their
times mean nothing.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import click
import msgspec

from benchmarks.served import compiled_environment
from homeostat.objects import yaml
from homeostat.objects.json import JsonObject

_ROOT = Path(__file__).parents[2]
_GATOR = _ROOT / ".cache" / "gator" / "gator"
_MODULE = "github.com/open-policy-agent/gatekeeper/v3/cmd/gator@v3.23.1"
_BUILD_WITHIN_S = 600.0
_RUN_WITHIN_S = 300.0
_PROGRAM = "import sys; from homeostat.cli.main import main; sys.exit(main())"
_REGO = """
package containers
pod := input.review.object.spec.template.spec
violation[{"msg": msg}] {
  c := pod.containers[_]; endswith(c.image, ":latest")
  msg := sprintf("container '%v' uses :latest tag", [c.name])
}
violation[{"msg": msg}] {
  c := pod.containers[_]; not c.livenessProbe
  msg := sprintf("container '%v' missing liveness probe", [c.name])
}
violation[{"msg": msg}] {
  c := pod.containers[_]; not c.readinessProbe
  msg := sprintf("container '%v' missing readiness probe", [c.name])
}
violation[{"msg": msg}] {
  c := pod.containers[_]; c.securityContext.privileged
  msg := sprintf("container '%v' is privileged", [c.name])
}
"""
_RULES: JsonObject = {
    "forbidLatestTag": True,
    "requireLivenessProbe": True,
    "requireReadinessProbe": True,
    "forbidPrivileged": True,
}


class Run(msgspec.Struct, frozen=True):
    name: str
    seconds: float
    cpu_s: float
    peak_mib: float
    found: int


def measure_files(folder: Path, files: int) -> tuple[Run, Run | None]:
    """Ours, and gator's if it is built."""
    manifests = folder / "manifests"
    for at in range(files):
        path = manifests / f"team-{at // 100:03d}" / f"web-{at}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(yaml.dump(_deployment(at)))
    ours = _ours(folder, manifests)
    return ours, _gators(folder, manifests) if _GATOR.exists() else None


def build_gator() -> None:
    """Downloads its modules. `ClickException` if Go is missing, or the build fails or takes too long."""
    if _GATOR.exists():
        return
    go = shutil.which("go")
    if go is None:
        raise click.ClickException("gator is built with Go, which is not on PATH; leave --build-gator out")
    environment = {**os.environ, "GOBIN": str(_GATOR.parent)}
    try:
        subprocess.run([go, "install", _MODULE], env=environment, check=True, timeout=_BUILD_WITHIN_S)
    except (subprocess.SubprocessError, OSError) as error:
        raise click.ClickException(f"gator cannot be built: {error}; leave --build-gator out") from error


def _ours(folder: Path, manifests: Path) -> Run:
    policy = folder / "policy.yaml"
    metadata = {"name": "rules"}
    policy.write_bytes(
        yaml.dump(
            {"apiVersion": "devops.stochastic.io/v1", "kind": "DevOpsPolicy", "metadata": metadata, "spec": _RULES}
        )
    )
    check = [sys.executable, "-c", _PROGRAM, "policy", "check"]
    # As an installed program starts: with its modules compiled.
    subprocess.run([*check, str(policy)], env=compiled_environment(), capture_output=True, check=False)
    command = [*check, str(manifests), "--policy", str(policy), "-o", "json"]
    return _run("homeostat policy check", command, lambda out: len(msgspec.json.decode(out)["violations"]))


def _gators(folder: Path, manifests: Path) -> Run:
    rules = folder / "rules.yaml"
    rules.write_bytes(yaml.dump_all([_template(), _constraint()]))
    command = [str(_GATOR), "test", "-f", str(rules), "-f", str(manifests), "-o", "json"]
    return _run("gator test", command, lambda out: len(msgspec.json.decode(out)))


def _run(name: str, command: Sequence[str], count: Callable[[bytes], int]) -> Run:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = perf_counter()
    done = subprocess.run(command, env=compiled_environment(), capture_output=True, timeout=_RUN_WITHIN_S, check=False)
    seconds = perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{name}: {done.stderr.decode(errors='replace')[-500:]}")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(name, seconds, cpu_s, after.ru_maxrss / 1024, count(done.stdout))


def _template() -> JsonObject:
    names = {"spec": {"names": {"kind": "Containers"}}}
    return {
        "apiVersion": "templates.gatekeeper.sh/v1",
        "kind": "ConstraintTemplate",
        "metadata": {"name": "containers"},
        "spec": {"crd": names, "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": _REGO}]},
    }


def _constraint() -> JsonObject:
    return {
        "apiVersion": "constraints.gatekeeper.sh/v1beta1",
        "kind": "Containers",
        "metadata": {"name": "rules"},
        "spec": {"match": {"kinds": [{"apiGroups": ["apps"], "kinds": ["Deployment"]}]}},
    }


def _deployment(at: int) -> JsonObject:
    probe = {"httpGet": {"path": "/healthz", "port": 8080}}
    containers = [
        {
            "name": name,
            "image": f"registry.example.com/team/{name}:{'latest' if at % 10 == 0 else f'1.{at}'}",
            **({"livenessProbe": probe} if at % 3 else {}),
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
            "ports": [{"containerPort": 8080}],
            "env": [{"name": "MODE", "value": "production"}],
        }
        for name in ("main", "sidecar")
    ]
    labels = {"app": f"web-{at}"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"web-{at}", "namespace": "shop", "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }
