"""The compose file: whole, without a secret in it, and its commands start replicas that find each other.

There need be no Docker: each container's command is run as a process, with paths and names of this machine for those
of the containers.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.replicas.replica import PROGRAM, Replica, environment, open_clients

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "compose"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
PLANES = ["plane-1", "plane-2", "plane-3"]


def test_everything_that_a_service_refers_to_is_there() -> None:
    for name, service in SERVICES.items():
        assert set(service.get("depends_on", ())) <= SERVICES.keys(), name
        assert set(service.get("secrets", ())) <= COMPOSE["secrets"].keys(), name
        assert set(service["networks"]) <= COMPOSE["networks"].keys(), name
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert source in COMPOSE["volumes"] or (FOLDER / source).exists(), volume
    assert all((ROOT / SERVICES[name]["build"]["dockerfile"]).exists() for name in PLANES)


def test_replicas_share_data_and_differ_in_name() -> None:
    planes = [SERVICES[name] for name in PLANES]
    assert [plane["hostname"] for plane in planes] == PLANES
    assert all(plane["volumes"] == ["data:/data"] for plane in planes)


def test_no_secret_is_in_the_files() -> None:
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            assert "PASSWORD" not in name or name.endswith("_FILE")
            assert not urlsplit(value).password
    assert (FOLDER / ".gitignore").read_text() == "secrets/\nkubeconfig\n"


def test_the_balancer_knows_every_replica_by_its_port() -> None:
    config = (FOLDER / "haproxy.cfg").read_text()
    for backend in config.split("\nbackend ")[1:]:
        assert re.findall(r"^ +server (\S+) (\S+)", backend, re.MULTILINE) == [
            (name, f"{name}:7443") for name in PLANES
        ]


class Container:
    """The command of a service, as it would be run in the container."""

    def __init__(self, service: str, database: str, folder: Path) -> None:
        self._service = SERVICES[service]
        self.replica = Replica(folder / "data", "")
        secret = folder / "password"
        url = urlsplit(database)
        secret.write_text(str(url.password))
        self._here = {
            "/run/secrets/password": str(secret),
            "0.0.0.0": "127.0.0.1",
            "7443": str(self.replica.port),
            "exec homeostat up": f"exec {PROGRAM} up --faces-port 0",
        }
        self._environment = {
            **environment(),
            "HOMEOSTAT_DATA": str(folder / "data"),
            "HOMEOSTAT_DATABASE": f"postgresql://{url.username}@127.0.0.1:{url.port}{url.path}",
            "HOMEOSTAT_ADDRESS": "https://localhost:7443",
        }

    @contextmanager
    def running(self) -> Iterator[Replica]:
        command = [self._local(part).replace("$$", "$") for part in self._service["command"]]
        with self.replica.log.open("wb") as log:
            process = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)
        try:
            self.replica.attach(process)
            self.replica.wait_until_ready()
            yield self.replica
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0

    def is_healthy(self) -> bool:
        kind, _, *rest = [self._local(part) for part in self._service["healthcheck"]["test"]]
        assert kind == "CMD"
        program = [sys.executable, *(each.replace("/ready.py", str(ROOT / "deploy/image/ready.py")) for each in rest)]
        return subprocess.run(program, stderr=subprocess.DEVNULL, timeout=30).returncode == 0

    def _local(self, part: str) -> str:
        for there, here in self._here.items():
            part = part.replace(there, here)
        return part


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path


async def test_the_commands_start_replicas_that_serve_one_plane(empty_database: str, folder: Path) -> None:
    password = urlsplit(empty_database).password
    assert password
    one, two = (Container(name, empty_database, folder) for name in PLANES[:2])
    assert not one.is_healthy()
    with one.running() as first, two.running() as second:
        assert one.is_healthy()
        assert two.is_healthy()
        async with open_clients([first.endpoint, second.endpoint]) as clients:
            await clients[0].create("/api/v1/namespaces", {"metadata": {"name": "composed"}})
            await clients[1].get("/api/v1/namespaces/composed")
        assert password not in arguments_of(first)
    assert "https://localhost:7443" in (folder / "data" / "kubeconfig").read_text()


def arguments_of(replica: Replica) -> str:
    """As every user of the machine can see them."""
    return Path(f"/proc/{replica.pid}/cmdline").read_text()
