"""The REST API of a plane that was started as users start it: the original's curl examples, as they are."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PROGRAM = str(Path(sys.executable).with_name("homeostat"))
WITHIN_S = 20.0

CREATE_TYPE = r"""
curl -X POST http://localhost:8000/api/v1/resource-types \
  -H "Content-Type: application/json" \
  -d '{
    "name": "DatabaseCluster",
    "version": "v1",
    "description": "Managed database cluster",
    "schema": {
      "type": "object",
      "required": ["engine", "engine_version", "instance_class", "storage_gb"],
      "properties": {
        "engine": { "type": "string", "enum": ["postgres", "mysql", "mariadb"] },
        "engine_version": { "type": "string" },
        "instance_class": { "type": "string" },
        "storage_gb": { "type": "integer", "minimum": 10, "maximum": 10000 },
        "replicas": { "type": "integer", "minimum": 0, "maximum": 5, "default": 0 },
        "backup_retention_days": { "type": "integer", "default": 7 },
        "high_availability": { "type": "boolean", "default": false }
      }
    }
  }'
"""
CREATE_RESOURCE = r"""
curl -X POST http://localhost:8000/api/v1/resources \
  -H "Content-Type: application/json" \
  -d '{
    "name": "production-pg",
    "resource_type_name": "DatabaseCluster",
    "resource_type_version": "v1",
    "action_plugin": "github_actions",
    "spec": {
      "engine": "postgres",
      "engine_version": "16.2",
      "instance_class": "db.large",
      "storage_gb": 500,
      "replicas": 2,
      "high_availability": true
    }
  }'
"""
SHOW_RESOURCE = "curl http://localhost:8000/api/v1/resources/1"
SHOW_HISTORY = "curl http://localhost:8000/api/v1/resources/1/history"


class Served:
    def __init__(self, welcome: str, data: Path) -> None:
        self.welcome, self.data = welcome, data
        found = re.search(r"REST API +(\S+)/api/v1", welcome)
        self.url = found[1] if found else ""

    def run(self, command: str, *options: str) -> Any:
        """A curl command with its port replaced by the one that was free."""
        line = command.strip().replace("http://localhost:8000", self.url.replace("127.0.0.1", "localhost"))
        shown = line.replace("curl ", f"curl -sS {' '.join(options)} ", 1)
        done = subprocess.run(["sh", "-c", shown], capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@contextmanager
def up(data: Path, *options: str) -> Iterator[Served]:
    command = [PROGRAM, "up", "--data", str(data), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        lines: list[str] = []
        while "end it" not in (line := process.stdout.readline()):
            assert line, lines
            lines.append(line)
        yield Served("".join(lines), data)
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def waiting(see: Any, holds: Any) -> Any:
    deadline = time.monotonic() + WITHIN_S
    while not holds(seen := see()):
        assert time.monotonic() < deadline, seen
        time.sleep(0.05)
    return seen


def test_the_curl_examples_of_the_original_work_as_they_are(tmp_path: Path) -> None:
    with up(tmp_path / "plane", "--open", "--faces-port", "0") as served:
        made = served.run(CREATE_TYPE)
        assert (made["id"], made["name"], made["version"]) == (1, "DatabaseCluster", "v1")
        resource = served.run(CREATE_RESOURCE)
        assert (resource["id"], resource["name"], resource["status"]) == (1, "production-pg", "pending")
        assert (resource["spec"]["backup_retention_days"], resource["finalizers"]) == (7, ["github_actions"])
        # No repository is named: it fails, and says so.
        failed = waiting(lambda: served.run(SHOW_RESOURCE), lambda each: "ReconcileFailed" in str(each))
        assert {each["type"]: each["status"] for each in failed["conditions"]} == {
            "Ready": "False",
            "Reconciling": "False",
            "Degraded": "True",
        }
        (entry,) = served.run(SHOW_HISTORY)
        assert (entry["trigger_reason"], entry["success"], entry["resource_id"]) == ("initial", False, 1)
        assert served.run("curl http://localhost:8000/health")["status"] == "ok"
        foreign = served.run(SHOW_RESOURCE, "-H 'Host: evil.example'")
        assert "local requests only" in foreign["detail"]


def test_without_open_it_is_tls_and_asks_for_a_token(tmp_path: Path) -> None:
    data = tmp_path / "plane"
    with up(data, "--faces-port", "0") as served:
        assert served.url.startswith("https://")
        trusted = f"--cacert {data}/pki/ca.crt"
        show = "curl http://localhost:8000/api/v1/resource-types"
        assert served.run(show, trusted)["detail"] == "Not authenticated"
        made = subprocess.run(
            [PROGRAM, "token", "create", "ci", "--group", "system:masters", "--data", str(data)],
            capture_output=True,
            text=True,
        )
        token = made.stdout.strip()
        allowed = f"{trusted} -H 'Authorization: Bearer {token}'"
        assert waiting(lambda: served.run(show, allowed), lambda each: isinstance(each, list)) == []
        assert served.run(CREATE_TYPE, allowed)["id"] == 1
        assert served.run("curl http://localhost:8000/api/v1/cluster/health", trusted) == {"status": "ok"}


def test_a_port_that_was_asked_for_and_is_taken_is_an_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [PROGRAM, "up", "--data", str(tmp_path / "plane"), "--port", "0", "--rest-port", port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert f"127.0.0.1:{port} is in use; choose another port with --rest-port" in done.stderr


@pytest.mark.parametrize("options", [("--no-rest", "--faces-port", "0"), ("--operators", "housekeeping")])
def test_it_is_not_served_where_nobody_wants_it(tmp_path: Path, options: tuple[str, ...]) -> None:
    with up(tmp_path / "plane", "--open", *options) as served:
        assert "REST" not in served.welcome
