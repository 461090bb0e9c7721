"""A real Vault in a process of its own, unsealed, with its storage in memory."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.request
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.kubectl.kubectl import Kubectl
from tests.ports import free_port
from tools.build_vault import PROGRAM

needs_vault = pytest.mark.skipif(not PROGRAM.exists(), reason="no Vault: make vault")
POLICY = """
path "secret/*" { capabilities = ["create", "read", "update", "delete", "list"] }
path "secret/data/hidden/*" { capabilities = ["deny"] }
"""


class RealVault:
    def __init__(self, url: str) -> None:
        self.url, self.root, self.key = url, "", ""

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The answer to the administrator; an error status is an `HTTPError`."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/v1/{path}", data, {"X-Vault-Token": self.root}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else {}

    def start(self) -> None:
        """Initialised, unsealed, with engines of both versions, and with the logins by user and by role."""
        made = _retried(lambda: self.call("PUT", "sys/init", {"secret_shares": 1, "secret_threshold": 1}))
        self.root, self.key = made["root_token"], made["keys"][0]
        self.unseal()
        for mount, version in (("secret", "2"), ("old", "1")):
            self.call("POST", f"sys/mounts/{mount}", {"type": "kv", "options": {"version": version}})
        for mount, kind in (("userpass", "userpass"), ("people", "userpass"), ("approle", "approle")):
            self.call("POST", f"sys/auth/{mount}", {"type": kind})
        self.call("PUT", "sys/policies/acl/app", {"policy": POLICY})

    def seal(self) -> None:
        self.call("PUT", "sys/seal")

    def unseal(self) -> None:
        self.call("PUT", "sys/unseal", {"key": self.key})
        _retried(lambda: self.call("GET", "sys/mounts"))

    def token(self, **options: Any) -> str:
        made = self.call("POST", "auth/token/create", {"policies": ["app"], **options})
        return str(made["auth"]["client_token"])

    def role(self, **options: Any) -> tuple[str, str]:
        """The id of a role, and a secret id of it."""
        self.call("POST", "auth/approle/role/app", {"token_policies": "app", **options})
        role = self.call("GET", "auth/approle/role/app/role-id")["data"]["role_id"]
        return role, self.call("POST", "auth/approle/role/app/secret-id", {})["data"]["secret_id"]

    def user(self, name: str, password: str, mount: str = "userpass") -> None:
        self.call("POST", f"auth/{mount}/users/{name}", {"password": password, "token_policies": "app"})


def _retried(ask: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 30
    while True:
        try:
            return ask()
        except urllib.error.URLError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(0.05)


@contextmanager
def running_vault() -> Iterator[RealVault]:
    port = free_port()
    process = subprocess.Popen([str(PROGRAM), f"127.0.0.1:{port}"], stderr=subprocess.DEVNULL)
    try:
        vault = RealVault(f"http://127.0.0.1:{port}")
        vault.start()
        yield vault
    finally:
        process.kill()
        process.wait(10)


def reviewed_token(real: RealVault, kubectl: Kubectl) -> str:
    """A token of the ServiceAccount `app` for the role `app`; Vault asks the server of this kubectl whose it is."""
    kubectl("create", "serviceaccount", "app")
    subject = "--serviceaccount=default:app"
    kubectl("create", "clusterrolebinding", "review", "--clusterrole=system:auth-delegator", subject)
    server = kubectl("config", "view", "--raw", "-o", "jsonpath={.clusters[0].cluster.server}").strip()
    raw = "jsonpath={.clusters[0].cluster.certificate-authority-data}"
    authority = b64decode(kubectl("config", "view", "--raw", "-o", raw).strip()).decode()
    if "kubernetes/" not in real.call("GET", "sys/auth")["data"]:
        real.call("POST", "sys/auth/kubernetes", {"type": "kubernetes"})
    settings = {"kubernetes_host": server, "disable_local_ca_jwt": True}
    real.call("POST", "auth/kubernetes/config", {**settings, "kubernetes_ca_cert": authority})
    bound = {"bound_service_account_names": "app", "bound_service_account_namespaces": "default"}
    real.call("POST", "auth/kubernetes/role/app", {**bound, "token_policies": "app"})
    return kubectl("create", "token", "app").strip()
