"""A real kube-apiserver with its etcd, as processes of their own.

Promises: both are ended when the block is left, and by the kernel should this process die first; every wait has an end;
what they log is beside their data, and the end of it in the error where they do not start.

There are no controllers: nothing collects garbage, empties namespaces or makes service accounts, which Pods need.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from homeostat.client.endpoint.endpoint import Endpoint
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.objects.json import JsonObject
from tests.ports import free_port
from tools.build_cluster import CACHE

TOKEN = "administrator"
UNCACHED = "serviceaccounts"
"""A resource that the server watches in etcd itself, so that a compaction is felt at once."""

_READY_WITHIN_S = 40.0
_POLL_EVERY_S = 0.05


class StartError(Exception):
    """A server that did not come up, with the end of what it said."""


@dataclass
class Cluster:
    directory: Path
    etcd_port: int
    peer_port: int
    port: int
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    @cached_property
    def endpoint(self) -> Endpoint:
        """The administrator's."""
        return load_endpoint([self.kubeconfig])

    @property
    def is_serving(self) -> bool:
        return "apiserver" in self._processes

    def start(self) -> None:
        (self.directory / "tokens.csv").write_text(f'{TOKEN},admin,admin,"system:masters"\n')
        _write_key(self.directory / "accounts.key")
        self._run("etcd", self._etcd_options())
        self._run("apiserver", self._apiserver_options())
        self._wait_until_ready()
        self.kubeconfig.write_text(json.dumps(_kubeconfig(self.url, self.directory / "certs" / "apiserver.crt")))

    def kill_apiserver(self) -> None:
        """As a power cut would."""
        self._end("apiserver")

    async def revive_apiserver(self) -> None:
        """On the same port, with the same keys and the same etcd as before."""
        # Here and not beside the loop: the kernel ends a process with the thread that has started it.
        self._run("apiserver", self._apiserver_options())
        await asyncio.to_thread(self._wait_until_ready)

    def stop(self) -> None:
        for name in ("apiserver", "etcd"):
            self._end(name)

    def compact(self) -> None:
        """etcd forgets every version but the newest."""
        ask_etcd = http.client.HTTPConnection("127.0.0.1", self.etcd_port, timeout=30)
        try:
            ask_etcd.request("POST", "/v3/maintenance/status", "{}")
            revision = json.loads(ask_etcd.getresponse().read())["header"]["revision"]
            ask_etcd.request("POST", "/v3/kv/compaction", json.dumps({"revision": revision, "physical": True}))
            answer = ask_etcd.getresponse()
            assert answer.status == 200, answer.read()
        finally:
            ask_etcd.close()

    def _run(self, name: str, options: list[str]) -> None:
        command = [str(CACHE / name), *options]
        if setpriv := shutil.which("setpriv"):
            command = [setpriv, "--pdeathsig", "KILL", *command]
        with (self.directory / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(command, stdout=log, stderr=log)

    def _end(self, name: str) -> None:
        if (process := self._processes.pop(name, None)) is not None:
            process.kill()
            process.wait()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _READY_WITHIN_S
        while not _is_ready(self.port):
            for name, process in self._processes.items():
                if process.poll() is not None:
                    raise StartError(f"{name} ended with {process.returncode}: {self._log_end(name)}")
            if time.monotonic() > deadline:
                raise StartError(f"no answer within {_READY_WITHIN_S:g} s: {self._log_end('apiserver')}")
            time.sleep(_POLL_EVERY_S)

    def _log_end(self, name: str) -> str:
        return (self.directory / f"{name}.log").read_text(errors="replace")[-3000:]

    def _etcd_options(self) -> list[str]:
        clients, peers = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{self.peer_port}"
        return [
            f"--data-dir={self.directory / 'etcd'}",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",
            # It is alone and need not wait long for votes; heartbeats more often would take CPU all the time.
            "--heartbeat-interval=100",
            "--election-timeout=500",
        ]

    def _apiserver_options(self) -> list[str]:
        key = self.directory / "accounts.key"
        return [
            f"--etcd-servers=http://127.0.0.1:{self.etcd_port}",
            f"--secure-port={self.port}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={self.directory / 'certs'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            f"--token-auth-file={self.directory / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none",
            # Served by default from the next version on, and by the plane.
            "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
            "--feature-gates=MutatingAdmissionPolicy=true",
            f"--watch-cache-sizes={UNCACHED}#0",
        ]


@contextmanager
def run_cluster(directory: Path) -> Iterator[Cluster]:
    """A cluster that is ready; ended when the block is left."""
    etcd, peers, apiserver = (free_port() for _ in range(3))
    cluster = Cluster(directory, etcd_port=etcd, peer_port=peers, port=apiserver)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=ssl._create_unverified_context(), timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _write_key(path: Path) -> None:
    key = rsa.generate_private_key(65537, 2048)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))


def _kubeconfig(url: str, authority: Path) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "real",
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "admin"}}],
        "clusters": [{"name": "real", "cluster": {"server": url, "certificate-authority": str(authority)}}],
        "users": [{"name": "admin", "user": {"token": TOKEN}}],
    }
