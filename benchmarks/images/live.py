"""The operator in a process of its own, repositories behind `git http-backend`, and a plane.

One pass is timed from the request that notices the new commits to its answer, which comes after the push. The way of
the original is measured on the same repositories afterwards: both clones in full, the edit, a commit and a push for
each Deployment. It is given its best case, one Deployment after another, since its concurrent pushes refuse each other.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import aiohttp
import msgspec

from benchmarks.served import scratch, serve
from benchmarks.usage import Processes, cpu_seconds
from homeostat.client.base import Client
from homeostat.client.connect import open_client
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEPLOYMENT, SECRET
from homeostat.operators.images.api import KINDS
from homeostat.runtime.installation import install
from tests.external.git_servers import HttpGit, Origin, serving_git
from tests.ports import free_port

_PROGRAM = "import sys; from homeostat.cli.main import main; sys.exit(main())"
_NAMESPACE = "default"
_TICKS = os.sysconf("SC_CLK_TCK")
_FILE = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}   # kept
spec:
  template:
    spec:
      containers:
        - name: app
          image: org/{app}:{tag}
"""
_AT_ONCE = 16
_START_WITHIN_S = 60.0


class Scale(msgspec.Struct, frozen=True):
    deployments: int = 500
    files: int = 5000
    apps: int = 100
    clones: int = 10


class Figures(msgspec.Struct, frozen=True):
    change_s: float
    change_cpu_s: float
    change_git_s: float
    """Of processes that have ended."""
    change_requests: int
    commits: int
    idle_s: float
    idle_cpu_s: float
    idle_questions: int
    mib: float
    clone_s: float
    other: float


async def measure_live(scale: Scale, report: Callable[[str], None]) -> Figures:
    with scratch() as data, scratch() as root, serve(data, "--operators", "housekeeping") as served:
        async with _client(data / "kubeconfig") as client, serving_git(root) as (git, url):
            manifests, apps = _repositories(root, scale)
            await install(client, KINDS)
            await _declare(client, url, scale)
            report(f"{scale.deployments} Deployments and {scale.files:,} files created")
            port = free_port()
            with _operator(data / "kubeconfig", port) as pid:
                address = f"http://127.0.0.1:{port}"
                await _reconciled(address, "up_to_date", scale.deployments)
                for app in apps:
                    app.commit({"main.go": "package newer\n"})
                processes = Processes([served.pid, pid])
                usage, cpu, ended = processes.usage(), cpu_seconds(pid), _children_s(pid)
                before, began = manifests.git("rev-parse", "main"), time.perf_counter()
                git.requests.clear()
                await _reconciled(address, "patched", scale.deployments)
                change_s = time.perf_counter() - began
                used, other = cpu_seconds(pid) - cpu, (processes.usage() - usage).other
                git_s, requests = _children_s(pid) - ended, len(git.requests)
                commits = int(manifests.git("rev-list", "--count", f"{before}..main"))
                report(f"changed in {change_s:.1f} s, {used:.1f} s of CPU and {git_s:.1f} s of git")
                await _reconciled(address, "up_to_date", scale.deployments)
                idle = await _idle(address, git, pid, scale.deployments)
                mib = _peak_mib(pid)
            clone_s = await asyncio.to_thread(_cloned, root, scale, [each.git("rev-parse", "main") for each in apps])
    return Figures(
        change_s=change_s,
        change_cpu_s=used,
        change_git_s=git_s,
        change_requests=requests,
        commits=commits,
        idle_s=idle[0],
        idle_cpu_s=idle[1],
        idle_questions=idle[2],
        mib=mib,
        clone_s=clone_s,
        other=other,
    )


async def _idle(address: str, git: HttpGit, pid: int, deployments: int) -> tuple[float, float, int]:
    """Time, CPU with that of git, and how often refs were requested."""
    git.requests.clear()
    cpu, began = cpu_seconds(pid) + _children_s(pid), time.perf_counter()
    await _reconciled(address, "up_to_date", deployments)
    took, used = time.perf_counter() - began, cpu_seconds(pid) + _children_s(pid) - cpu
    return took, used, sum(each.endswith("/info/refs") for each in git.requests)


def _repositories(root: Path, scale: Scale) -> tuple[Origin, list[Origin]]:
    apps = [Origin(root / f"app-{number}.git") for number in range(scale.apps)]
    heads = [each.commit({"main.go": "package main\n"}) for each in apps]
    manifests = Origin(root / "man.git")
    files = {
        f"apps/{number % 50}/web-{number}.yaml": _FILE.format(
            name=f"web-{number}", app=f"app-{number % scale.apps}", tag=heads[number % scale.apps]
        )
        for number in range(scale.deployments)
    }
    others = {f"others/{number % 100}/{number}.yaml": f"a: {number}\n" for number in range(scale.files - len(files))}
    manifests.commit(files | others)
    return manifests, apps


async def _declare(client: Client, url: str, scale: Scale) -> None:
    await client.create(SECRET.path(_NAMESPACE), {"metadata": {"name": "key"}, "stringData": {"ssh-privatekey": "x\n"}})
    places = asyncio.Semaphore(_AT_ONCE)

    async def declare(number: int) -> None:
        name, app = f"web-{number}", f"app-{number % scale.apps}"
        given = {
            "enabled": "true",
            "app_repository": f"{url}/{app}.git",
            "manifest_repository": f"{url}/man.git",
            "deployment_path": f"apps/{number % 50}/{name}.yaml",
            "image_name": f"org/{app}",
            "observe_branch": "main",
            "ssh_key_name": "key",
            "ssh_key_namespace": _NAMESPACE,
        }
        labels = {"app": name}
        pod = {"containers": [{"name": "app", "image": f"org/{app}:x"}]}
        body: JsonObject = {
            "metadata": {"name": name, "annotations": {f"gitops.operator.{key}": each for key, each in given.items()}},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
        }
        async with places:
            await client.create(DEPLOYMENT.path(_NAMESPACE), body)

    await asyncio.gather(*map(declare, range(scale.deployments)))


@asynccontextmanager
async def _client(kubeconfig: Path) -> AsyncIterator[Client]:
    async with open_client(load_endpoint([kubeconfig])) as client:
        yield client


@contextmanager
def _operator(kubeconfig: Path, port: int) -> Iterator[int]:
    words = ("run", "--operators", "images", "--faces-open", "--images-port", str(port), "--images-interval", "0")
    with scratch() as cache:
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "XDG_CACHE_HOME": str(cache)}
        process = subprocess.Popen([sys.executable, "-c", _PROGRAM, *words], env=environment)
        try:
            yield process.pid
        finally:
            process.terminate()
            process.wait(30)


async def _reconciled(address: str, action: str, count: int) -> None:
    """A pass that ends with this action for all; asked for again while the operator starts."""
    deadline = time.monotonic() + _START_WITHIN_S
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=600)) as session:
        while True:
            try:
                async with session.get(f"{address}/reconcile") as answer:
                    found = await answer.json() if answer.status == 200 else []
            except aiohttp.ClientConnectionError:
                found = []
            if len(found) == count:
                break
            if time.monotonic() > deadline:
                raise RuntimeError(f"the operator tracks {len(found)} Deployments of {count}")
            await asyncio.sleep(0.1)
    if strange := next((each for each in found if each["action"] != action), None):
        raise RuntimeError(f"expected {action}: {strange}")


def _children_s(pid: int) -> float:
    """The CPU time of ended processes that it has started."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / _TICKS


def _peak_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) / 1024


def _cloned(root: Path, scale: Scale, heads: list[str]) -> float:
    """Seconds of CPU for one Deployment by full clones, over the file system: without HTTP, which would cost more."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for number in range(scale.clones):
        with scratch() as folder:
            _git(folder, "clone", "-q", str(root / f"app-{number % scale.apps}.git"), "app")
            _git(folder, "clone", "-q", "--no-local", str(root / "man.git"), "man")
            file = folder / "man" / f"apps/{number % 50}/web-{number}.yaml"
            file.write_text(file.read_text().replace(heads[number % scale.apps], "0" * 40))
            _git(folder / "man", "add", "-A")
            _git(folder / "man", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "x")
            _git(folder / "man", "push", "-q", "origin", "HEAD:main")
            shutil.rmtree(folder / "man")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / scale.clones


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, timeout=120)
