"""The audit log: its file, its rotation, and what happens when it cannot be written."""

from __future__ import annotations

import stat
import threading
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from homeostat.server.access.attributes import Attributes
from homeostat.server.access.user import User
from homeostat.server.audit import log as log_module
from homeostat.server.audit.entry import MAX_OBJECTS_BYTES, Entry
from homeostat.server.audit.log import AuditLog
from homeostat.server.audit.policy import Decision
from tests.full_disk import full_disk

JANE = User("jane", groups=("devs",))


def entry(number: int = 0, level: Any = "Metadata", **more: Any) -> Entry:
    values: dict[str, Any] = {
        "id": f"id-{number}",
        "decision": Decision(level),
        "stage": "ResponseComplete",
        "uri": "/api/v1/namespaces/default/pods",
        "attributes": Attributes(user=JANE, verb="create", version="v1", resource="pods", namespace="default"),
        "caller": JANE,
        "address": "127.0.0.1",
        "user_agent": "kubectl/v1",
        "code": 201,
        "received": 1.5,
        "finished": 2.0,
        "content_type": "application/json",
        "request": b'{"kind":"Pod","metadata":{"name":"web","managedFields":[]}}',
        "response": b'{"kind":"Pod","metadata":{"name":"web","uid":"1","managedFields":[]}}',
    }
    return Entry(**{**values, **more})


def lines(path: Path) -> list[Any]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def test_a_long_user_agent_is_cut() -> None:
    agent = msgspec.json.decode(entry(user_agent="a" * 60_000).line())["userAgent"]
    assert (len(agent), agent[-15:]) == (1024 + 12, "aaa...TRUNCATED")


def test_an_entry_is_an_event_of_kubernetes() -> None:
    assert msgspec.json.decode(entry().line()) == {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": "id-0",
        "stage": "ResponseComplete",
        "requestURI": "/api/v1/namespaces/default/pods",
        "verb": "create",
        "user": {"username": "jane", "groups": ["devs"]},
        "sourceIPs": ["127.0.0.1"],
        "userAgent": "kubectl/v1",
        "objectRef": {"resource": "pods", "namespace": "default", "name": "web", "apiVersion": "v1"},
        "responseStatus": {"metadata": {}, "code": 201},
        "requestReceivedTimestamp": "1970-01-01T00:00:01.500000Z",
        "stageTimestamp": "1970-01-01T00:00:02.000000Z",
    }


def test_objects_are_logged_from_their_level_on() -> None:
    metadata, request, response = (
        msgspec.json.decode(entry(level=level).line()) for level in ("Metadata", "Request", "RequestResponse")
    )
    assert not {"requestObject", "responseObject"} & metadata.keys()
    assert request["requestObject"]["metadata"]["name"] == "web"
    assert "responseObject" not in request
    assert response["responseObject"]["metadata"]["uid"] == "1"


def test_bodies_of_every_format_are_logged_and_unreadable_ones_are_not() -> None:
    in_yaml = entry(level="Request", request=b"kind: Pod\n", content_type="application/apply-patch+yaml")
    assert msgspec.json.decode(in_yaml.line())["requestObject"] == {"kind": "Pod"}
    broken = entry(level="Request", request=b'{"kind"', code=400, response=b"")
    assert "requestObject" not in msgspec.json.decode(broken.line())
    protobuf = entry(level="Request", request=b"k8s\0nonsense", content_type="application/vnd.kubernetes.protobuf")
    assert "requestObject" not in msgspec.json.decode(protobuf.line())


def test_managed_fields_may_be_left_out() -> None:
    event = msgspec.json.decode(
        entry(decision=Decision("RequestResponse", omit_managed_fields=True)).line(),
    )
    assert "managedFields" not in event["requestObject"]["metadata"]
    assert "managedFields" not in event["responseObject"]["metadata"]


def test_large_objects_are_left_out_and_the_event_says_so() -> None:
    event = msgspec.json.decode(entry(level="Request", request=b" " * (MAX_OBJECTS_BYTES + 1)).line())
    assert "requestObject" not in event
    assert event["annotations"] == {"audit.k8s.io/truncated": "true"}


def test_a_refusal_is_logged_with_its_reason_but_not_the_message_about_a_secret() -> None:
    refused = b'{"kind":"Status","status":"Failure","reason":"Invalid","message":"data[a]: Invalid value: hunter2"}'
    shown = msgspec.json.decode(entry(code=422, response=refused).line())["responseStatus"]
    assert (shown["reason"], shown["message"]) == ("Invalid", "data[a]: Invalid value: hunter2")
    hidden = entry(code=422, response=refused, decision=Decision("Metadata", hides_messages=True)).line()
    assert b"hunter2" not in hidden
    assert msgspec.json.decode(hidden)["responseStatus"]["reason"] == "Invalid"


def test_a_user_that_acts_as_another_is_logged_with_both() -> None:
    event = msgspec.json.decode(entry(caller=User("admin")).line())
    assert (event["user"]["username"], event["impersonatedUser"]["username"]) == ("admin", "jane")


def test_entries_are_appended_in_order_to_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    for run in range(2):
        log = AuditLog(path)
        for number in range(500):
            log.write(entry(run * 500 + number))
        log.close(30)
        assert (log.written, log.dropped) == (500, 0)
    assert [each["auditID"] for each in lines(path)] == [f"id-{number}" for number in range(1000)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_full_file_is_renamed_and_the_oldest_are_deleted(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    times = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=each) for each in count())
    log = AuditLog(path, max_bytes=2_000, max_backups=3, now=lambda: next(times))
    for number in range(40):
        log._write([entry(number)])
    log.close(30)
    backups = sorted(each for each in tmp_path.iterdir() if each != path)
    assert len(backups) == 3
    kept = [each["auditID"] for backup in (*backups, path) for each in lines(backup)]
    assert kept == [f"id-{number}" for number in range(40 - len(kept), 40)]
    assert all(each.stat().st_size <= 2_000 for each in (*backups, path))


def test_entries_beyond_the_limit_are_dropped_and_writing_never_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "MAX_WAITING", 10)
    log = AuditLog(tmp_path / "audit.log")
    gate, write = threading.Event(), log._write

    def stuck(entries: list[Entry]) -> None:
        gate.wait(30)
        write(entries)

    monkeypatch.setattr(log, "_write", stuck)
    for number in range(400):
        log.write(entry(number))
    assert log.dropped >= 400 - 10 - log_module._BATCH
    gate.set()
    log.close(30)
    assert log.written + log.dropped == 400


CROWD = User("x", groups=tuple("g" * 100 for _ in range(160)))


@pytest.mark.parametrize(
    "part",
    [
        {"uri": "/" + "a" * 16_000},
        {"attributes": Attributes(user=CROWD, verb="get", path="/")},
        {"annotations": {"webhook/note": "a" * 16_000}},
    ],
    ids=["a URL", "groups", "annotations"],
)
def test_what_waits_is_bounded_in_bytes_of_all_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: dict[str, Any]
) -> None:
    """Anybody can send a URL of 16 KiB, and 10,000 entries may wait."""
    log, gate = AuditLog(tmp_path / "audit.log"), threading.Event()
    monkeypatch.setattr(log, "_write", lambda _: gate.wait(30))
    monkeypatch.setattr(log_module, "MAX_WAITING_BYTES", 1 << 20)
    for number in range(400):
        log.write(entry(number, **part))
    assert log.dropped > 300
    gate.set()
    log.close(30)


def test_a_full_disk_is_reported_once_and_costs_entries(caplog: pytest.LogCaptureFixture) -> None:
    log = AuditLog(Path("/dev/full"))
    for number in range(3):
        log._write([entry(number)])
    log.close(30)
    assert (log.dropped, log.written) == (3, 0)
    assert [record.message for record in caplog.records] == ["failed to write audit log"]


def test_an_entry_that_the_disk_took_in_part_leaves_no_half_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = AuditLog(path)
    log._write([entry(0)])
    with full_disk(path.stat().st_size + 100):
        log._write([entry(1)])
    log._write([entry(2)])
    log.close(30)
    assert [each["auditID"] for each in lines(path)] == ["id-0", "id-2"]
    assert log._size == path.stat().st_size


def test_a_file_that_somebody_moved_is_started_again(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = AuditLog(path, max_bytes=1)
    log._write([entry(1)])
    path.rename(tmp_path / "moved")
    log._write([entry(2)])
    log.close(30)
    assert [each["auditID"] for each in lines(path)] == ["id-2"]
