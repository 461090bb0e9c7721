"""Brings whatever the tests need and this machine can reach, all at once, and says in a line what became of each.

    python -m tools.prepare_tests

What is there already takes no time. What is out of reach (no apt, no Debian archive, no Go, no module proxy) is no
error: the tests that need it are skipped, and the last line of the run names the command that brings it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools import build_cluster, build_kubectl, fetch_browser, fetch_servers
from tools.provision import ROOT, UnavailableError


@dataclass(frozen=True, slots=True)
class Need:
    title: str
    is_here: Callable[[], bool]
    bring: Callable[[], Path]


SERVERS = Need("RabbitMQ, sshd, slapd, docker-registry, Prometheus", fetch_servers.is_here, fetch_servers.bring)
BROWSER = Need("Chromium", fetch_browser.is_here, fetch_browser.bring)
CLUSTER = Need("kube-apiserver and etcd", build_cluster.is_built, build_cluster.bring)
KUBECTL = Need("kubectl", build_kubectl.is_here, build_kubectl.bring)
LANES = ((SERVERS,), (BROWSER,), (CLUSTER, KUBECTL))
"""Of each lane one after the other: Go takes all cores by itself, and the second build reuses much of the first."""


def prepare(need: Need) -> None:
    if need.is_here():
        return
    _say(f"{need.title}: fetching; some minutes the first time ...")
    started = time.monotonic()
    try:
        found = need.bring()
    except UnavailableError as error:
        reason = str(error).partition(":\n")[0]
        _say(f"{need.title}: not available: {reason}")
    else:
        where = found.relative_to(ROOT) if found.is_relative_to(ROOT) else found
        _say(f"{need.title}: {where}, after {time.monotonic() - started:.0f} s")


def _say(line: str) -> None:
    # In one write, for the lanes print at the same time.
    sys.stderr.write(f"{line}\n")


def _prepare_lane(needs: tuple[Need, ...]) -> None:
    for need in needs:
        prepare(need)


def main() -> None:
    with ThreadPoolExecutor(len(LANES)) as pool:
        for lane in [pool.submit(_prepare_lane, needs) for needs in LANES]:
            lane.result()


if __name__ == "__main__":
    main()
