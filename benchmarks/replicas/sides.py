"""Who is measured: the plane on SQLite, on PostgreSQL with one replica and with three, and kube-apiserver on etcd.

All of them write to disk before they answer.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.served import scratch, serve
from benchmarks.target import Target
from tests.cluster.running import TOKEN, Cluster
from tests.postgres import running_postgres
from tools.build_cluster import is_built

_NOT_DURABLE = "--unsafe-no-fsync"
_HASTY = ("--heartbeat-interval", "--election-timeout")
_TUNED = {"fsync": "on", "shared_buffers": "128MB"}


class Side(NamedTuple):
    name: str
    open: Callable[[], AbstractContextManager[list[Target]]]
    """The addresses that clients may choose from."""


@contextmanager
def _on_sqlite() -> Iterator[list[Target]]:
    with scratch() as data, serve(data) as served:
        yield [served.target]


def _on_postgres(replicas: int) -> Callable[[], AbstractContextManager[list[Target]]]:
    @contextmanager
    def opened() -> Iterator[list[Target]]:
        with running_postgres(settings=_TUNED) as server, scratch() as data, ExitStack() as stack:
            url = server.url_at(server.port)
            yield [stack.enter_context(serve(data, "--database", url)).target for _ in range(replicas)]

    return opened


class _Durable(Cluster):
    def _etcd_options(self) -> list[str]:
        return [each for each in super()._etcd_options() if each != _NOT_DURABLE and not each.startswith(_HASTY)]


@contextmanager
def _on_etcd() -> Iterator[list[Target]]:
    with scratch() as directory:
        cluster = _durable(directory)
        try:
            cluster.start()
            yield [Target.of(cluster.url, TOKEN)]
        finally:
            cluster.stop()


def _durable(directory: Path) -> Cluster:
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    etcd, peers, apiserver = (probe.getsockname()[1] for probe in probes)
    for probe in probes:
        probe.close()
    return _Durable(directory, etcd_port=etcd, peer_port=peers, port=apiserver)


def sides() -> list[Side]:
    ours = [
        Side("SQLite", _on_sqlite),
        Side("PostgreSQL, 1 replica", _on_postgres(1)),
        Side("PostgreSQL, 3 replicas", _on_postgres(3)),
    ]
    return [*ours, Side("kube-apiserver, etcd", _on_etcd)] if is_built() else ours
