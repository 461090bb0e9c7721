"""Who is measured and where: operators in processes of their own, and the servers that they work on."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks import widgets
from benchmarks.served import scratch, serve, stop
from benchmarks.target import Target
from tools.build_cluster import is_built

_ROOT = Path(__file__).parents[2]
_BYTECODE = _ROOT / ".cache" / "bytecode"
_PROGRAM = "import sys; from homeostat.cli.main import main; sys.exit(main())"


class Side(NamedTuple):
    name: str
    command: Callable[[Path], list[str]]
    """With the kubeconfig, which is in KUBECONFIG too."""


class Server(NamedTuple):
    target: Target
    kubeconfig: Path
    pids: tuple[int, ...]


OURS = Side("homeostat", lambda kubeconfig: ["-m", "benchmarks.runtime.stamper", str(kubeconfig)])
FLOOR = Side("a bare client", lambda kubeconfig: ["-m", "benchmarks.runtime.floor", str(kubeconfig)])
KOPF = Side(
    "kopf",
    lambda _: [
        *("-W", "ignore", "-m", "kopf", "run", "--standalone", "--quiet"),
        *("-n", widgets.NAMESPACE, "benchmarks/runtime/kopf_operator.py"),
    ],
)


@contextmanager
def operate(side: Side, kubeconfig: Path) -> Iterator[int]:
    """The operator's process; ended when the block is left."""
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "PYTHONPYCACHEPREFIX": str(_BYTECODE)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen([sys.executable, *side.command(kubeconfig)], env=environment, cwd=_ROOT)
    try:
        yield process.pid
    finally:
        stop(process)


@contextmanager
def run_operator(name: str, kubeconfig: Path) -> Iterator[tuple[int, int]]:
    """One of our operators: its process, and the port of its metrics."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = ["run", "--operators", name, "--kubeconfig", str(kubeconfig), "--health", f"127.0.0.1:{port}"]
    with operate(Side(name, lambda _: ["-c", _PROGRAM, *arguments]), kubeconfig) as pid:
        yield pid, port


@contextmanager
def plane() -> Iterator[Server]:
    with scratch() as data, serve(data) as served:
        yield Server(served.target, data / "kubeconfig", (served.pid,))


@contextmanager
def apiserver() -> Iterator[Server]:
    """kube-apiserver and etcd, without fsync, which helps both sides alike."""
    from tests.cluster.running import TOKEN, run_cluster

    before = _children()
    with scratch() as directory, run_cluster(directory) as cluster:
        yield Server(Target.of(cluster.url, TOKEN), cluster.kubeconfig, tuple(_children() - before))


SERVERS: dict[str, Callable[[], AbstractContextManager[Server]]] = {"the plane": plane}
if is_built():
    SERVERS["kube-apiserver"] = apiserver


def _children() -> set[int]:
    tasks = Path("/proc/self/task").iterdir()
    return {int(pid) for task in tasks for pid in (task / "children").read_text().split()}
