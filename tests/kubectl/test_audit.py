"""The audit log of `homeostat up`, as real kubectl fills it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.kubectl.kubectl import Kubectl
from tests.served import ServedPlane, serve_plane

POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
rules:
- {level: None, users: ["system:apiserver"]}
- {level: None, verbs: [get, list, watch], resources: [{resources: [configmaps]}]}
- {level: RequestResponse}
"""
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.fixture(scope="module")
def audit_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit") / "audit.log"


@pytest.fixture(scope="module")
def plane(program: Path, audit_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPlane]:
    policy = audit_log.with_name("policy.yaml")
    policy.write_text(POLICY)
    data = tmp_path_factory.mktemp("plane") / "data"
    options = ("--audit-log", str(audit_log), "--audit-policy", str(policy))
    with serve_plane(data, options=options) as plane:
        yield plane


def events(audit_log: Path, resource: str, namespace: str) -> list[Any]:
    found = [msgspec.json.decode(line) for line in audit_log.read_bytes().splitlines()]
    wanted = {"resource": resource, "namespace": namespace}
    return [each for each in found if wanted.items() <= each.get("objectRef", {}).items()]


def eventually(audit_log: Path, resource: str, namespace: str, count: int) -> list[Any]:
    """The events of a namespace, in order. They are written soon after the response."""
    for _ in range(1500):
        found = events(audit_log, resource, namespace)
        if len(found) >= count:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{len(found)} of {count} events: {found}")


def test_who_did_what_on_what_and_the_result_are_logged(kubectl: Kubectl, audit_log: Path, unique: str) -> None:
    kubectl("create", "configmap", "settings", "--from-literal=a=b")
    kubectl("get", "configmap", "settings")
    kubectl("delete", "configmap", "settings")
    created, deleted = eventually(audit_log, "configmaps", unique, 2)
    assert (created["verb"], created["level"], created["stage"]) == ("create", "RequestResponse", "ResponseComplete")
    assert created["user"]["username"] == "admin"
    assert "system:masters" in created["user"]["groups"]
    assert created["objectRef"]["name"] == "settings"
    assert created["responseStatus"]["code"] == 201
    assert created["userAgent"].startswith("kubectl/")
    assert created["sourceIPs"] == ["127.0.0.1"]
    assert created["requestObject"]["data"] == {"a": "b"}
    assert created["responseObject"]["metadata"]["uid"]
    assert "managedFields" not in created["responseObject"]["metadata"]
    assert UUID.fullmatch(created["auditID"])
    assert created["requestReceivedTimestamp"] <= created["stageTimestamp"]
    assert (deleted["verb"], deleted["responseStatus"]["code"]) == ("delete", 200)


def test_secrets_are_logged_without_their_contents(kubectl: Kubectl, audit_log: Path, unique: str) -> None:
    kubectl("create", "secret", "generic", "password", "--from-literal=password=hunter2hunter2")
    kubectl("get", "secret", "password", "-o", "yaml")
    created, read = eventually(audit_log, "secrets", unique, 2)
    assert (created["level"], created["objectRef"]["name"]) == ("Metadata", "password")
    assert read["verb"] == "get"
    text = audit_log.read_text()
    assert "hunter2" not in text
    assert "aHVudGVyMmh1bnRlcjI" not in text


def test_a_denial_is_logged_with_the_user_and_the_one_that_it_acts_as(
    kubectl: Kubectl, audit_log: Path, unique: str
) -> None:
    kubectl.fails("get", "pods", "--as", "jane")
    denied = eventually(audit_log, "pods", unique, 1)[0]
    assert (denied["user"]["username"], denied["impersonatedUser"]["username"]) == ("admin", "jane")
    assert (denied["responseStatus"]["code"], denied["responseStatus"]["reason"]) == (403, "Forbidden")


def test_the_response_names_the_id_of_its_event(kubectl: Kubectl, audit_log: Path, unique: str) -> None:
    named = re.findall(r"Audit-Id: (\S+)", kubectl.run("get", "services", "-v=8").err)
    event = eventually(audit_log, "services", unique, 1)[0]
    assert event["auditID"] in named
