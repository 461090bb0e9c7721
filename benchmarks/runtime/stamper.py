"""The operator under measure on our side, in a process of its own: it stamps the status of every widget.

    python -m benchmarks.runtime.stamper KUBECONFIG

The runtime as `homeostat run` has it, over HTTP and TLS: the manager, its caches, breaker and metrics, and the wait for
own writes. Ended by SIGTERM.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import msgspec

from benchmarks import widgets
from homeostat.client.connect import open_client
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.edge.loop import run
from homeostat.objects.decision import Decision, Receipt
from homeostat.objects.declared import Declared
from homeostat.objects.kind import Kind
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.manager import Manager
from homeostat.runtime.setup import Setup

WIDGET = Kind(widgets.GROUP, "v1", widgets.PLURAL, "Widget", is_namespaced=True)
CONCURRENCY = 64


class Spec(msgspec.Struct, frozen=True, rename="camel"):
    bench_seq: str = ""


class Widget(Declared, frozen=True):
    spec: Spec = Spec()


class Stamper:
    async def observe(self, obj: Widget) -> None:
        return None

    def decide(self, obj: Widget, world: None) -> Decision[None]:
        return Decision(status={"phase": obj.spec.bench_seq or "Ready"})

    async def act(self, obj: Widget, action: None) -> Receipt | None:
        raise AssertionError("nothing but the status is ever written")


def register(setup: Setup) -> None:
    setup.control(WIDGET, Widget, Stamper(), Options(concurrency=CONCURRENCY))


async def main(kubeconfig: Path) -> None:
    async with open_client(load_endpoint([kubeconfig])) as client:
        manager = Manager(client, namespace=widgets.NAMESPACE)
        manager.add("stamper", register)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, manager.stop)
        await manager.run()


if __name__ == "__main__":
    run(main(Path(sys.argv[1])))
