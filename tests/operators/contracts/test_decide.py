"""The decision of a Pacto: deterministic, at rest after acting, and silent if nothing changed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.operators.contracts.api import Pacto
from homeostat.operators.contracts.decide import decide
from homeostat.operators.contracts.engine.checks.endpoint import Outcome
from homeostat.operators.contracts.engine.checks.evaluate import Failure
from homeostat.operators.contracts.engine.checks.snapshot import Snapshot
from homeostat.operators.contracts.world import World
from tests.operators.contracts.live import HEALTH, contract
from tests.operators.contracts.worlds import NOW, acted, ok, pacto, running, world, written

_TARGET = {"serviceName": "quay"}
_URL = "http://quay.port.svc:8080/healthz"
_READY = """readiness:
  expires: "{expires}"
  minScore: 50
  checks: [{{id: runbook, type: document, status: {status}, evidence: docs, weight: 10}}]
"""


def _ready(expires: str, status: str = "done") -> str:
    return contract(more=_READY.format(expires=expires, status=status))


def _status(obj: Pacto) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(obj.status or b"{}")
    return found


def _settled(text: str, obj: Pacto, *, now: datetime = NOW, **more: Any) -> tuple[Pacto, World]:
    seen = world(text, obj, now=now, **more)
    decision = decide(obj, seen)
    obj = written(obj, decision, now)
    return obj, msgspec.structs.replace(seen, revisions=acted(seen.revisions, decision.actions))


_texts = st.sampled_from(
    [contract(), contract("2.0.0-RC.1+b"), contract(runtime=HEALTH), "no: contract", "[", _ready("2026-11-20")]
)
_snapshots = st.sampled_from(
    [Snapshot(), running(images=("a:1",)), running(has_claim=True), Failure("Cannot list deployments yet")]
)
_outcomes = st.sampled_from([{}, {_URL: ok()}, {_URL: Outcome(error="refused", latency_ms=4)}])


@given(
    text=_texts,
    target=st.sampled_from([None, _TARGET]),
    snapshot=_snapshots,
    outcomes=_outcomes,
    before=st.sampled_from([None, {}, {"conditions": "?"}, {"lastReconciledAt": "?"}, {"summary": {"total": 1}}]),
)
def test_after_acting_nothing_is_left_to_do_and_to_write(
    text: str, target: Any, snapshot: Any, outcomes: Any, before: Any
) -> None:
    obj = pacto(before if before != {"conditions": "?"} else {}, **({"target": target} if target else {}))
    seen = world(text, obj, snapshot=snapshot, outcomes=outcomes)
    first = decide(obj, seen)
    assert decide(obj, seen) == first
    after, settled = _settled(text, obj, snapshot=snapshot, outcomes=outcomes)
    second = decide(after, settled)
    assert second.actions == ()
    assert second.notices == ()
    assert written(after, second, NOW + timedelta(seconds=5)).status == after.status


def test_a_latency_that_differs_is_no_change() -> None:
    text, obj = contract(runtime=HEALTH), pacto(target=_TARGET)
    snapshot = running()
    after, seen = _settled(text, obj, snapshot=snapshot, outcomes={_URL: ok(3)})
    later = world(text, obj, now=NOW + timedelta(seconds=60), snapshot=snapshot, outcomes={_URL: ok(90)})
    decision = decide(after, msgspec.structs.replace(later, revisions=seen.revisions))
    assert written(after, decision, later.now).status == after.status


def test_the_report_is_renewed_once_in_an_interval() -> None:
    text, obj = contract(), pacto(target=_TARGET)
    after, seen = _settled(text, obj, snapshot=running())
    later = NOW + timedelta(seconds=300)
    decision = decide(after, msgspec.structs.replace(seen, now=later))
    assert decision.status["lastReconciledAt"] == "2026-11-17T12:05:00Z"
    assert decision.requeue_after == timedelta(seconds=300)
    soon = decide(after, msgspec.structs.replace(seen, now=NOW + timedelta(seconds=100)))
    assert "lastReconciledAt" not in soon.status
    assert soon.requeue_after == timedelta(seconds=200)


def test_the_registry_and_endpoints_bring_the_next_pass_forward() -> None:
    obj = pacto()
    assert decide(obj, world(contract(), obj, due_in_s=12.0)).requeue_after == timedelta(seconds=12)


def test_a_failing_status_is_an_event_when_it_is_reported() -> None:
    obj = pacto(target=_TARGET)
    after, seen = _settled(contract(), obj)
    (event,) = decide(obj, seen).notices
    assert (event.type, event.reason) == ("Warning", "ValidationFailed")
    assert "2 of 3" in event.message
    assert decide(after, seen).notices == ()
    (again,) = decide(after, msgspec.structs.replace(seen, now=NOW + timedelta(seconds=300))).notices
    assert again == event
    mended = world(contract(), obj, snapshot=running(), revisions=seen.revisions)
    (recovered,) = decide(after, mended).notices
    assert (recovered.type, recovered.reason) == ("Normal", "ContractRecovered")
    assert recovered.message == "Contract status is Compliant again; it was NonCompliant"
    assert decide(written(after, decide(after, mended), NOW), mended).notices == ()


def test_an_invalid_contract_keeps_the_revision_that_was_in_use() -> None:
    obj, seen = _settled(contract(), pacto())
    revision = _status(obj)["currentRevision"]
    after, _ = _settled("[", obj, revisions=seen.revisions)
    status = _status(after)
    assert status["currentRevision"] == revision
    assert status["contractStatus"] == "NonCompliant"
    assert "contract" not in status
    assert [each["type"] for each in status["conditions"]] == ["ContractValid"]


def test_what_cannot_be_seen_is_unknown() -> None:
    obj = pacto(target=_TARGET)
    decision = decide(obj, world(contract(), obj, snapshot=Failure("Cannot list deployments yet")))
    assert decision.status["contractStatus"] == "Unknown"
    assert [each.reason for each in decision.notices] == ["ObservationFailed"]


@pytest.mark.parametrize(("status", "wanted"), [("done", "Compliant"), ("not-done", "Compliant")])
def test_readiness_does_not_change_the_contract_status(status: str, wanted: str) -> None:
    obj = pacto(target=_TARGET)
    decision = decide(obj, world(_ready("2027-01-01", status), obj, snapshot=running()))
    assert decision.status["contractStatus"] == wanted


def test_the_gate_drops_at_midnight_utc_and_is_reported_once() -> None:
    text, obj = _ready("2026-11-17"), pacto()
    after, seen = _settled(text, obj)
    assert _status(after)["readiness"]["passing"] is True
    assert _status(after)["readiness"]["passingUntil"] == "2026-11-17"
    late = NOW.replace(hour=23, minute=59, second=50)
    quiet = decide(after, msgspec.structs.replace(seen, now=late))
    assert quiet.requeue_after == timedelta(seconds=10)
    midnight = late + timedelta(seconds=10)
    dropped = decide(after, msgspec.structs.replace(seen, now=midnight))
    assert [each.reason for each in dropped.notices] == ["ReadinessGateUnmet"]
    unmet = written(after, dropped, midnight)
    assert decide(unmet, msgspec.structs.replace(seen, now=midnight)).notices == ()
    renewed = world(_ready("2027-11-17"), obj, now=midnight, revisions=seen.revisions)
    assert [each.reason for each in decide(unmet, renewed).notices] == ["ReadinessRecovered"]


def test_a_gate_that_will_drop_soon_is_reported_once_beforehand() -> None:
    text, obj = _ready("2026-11-30"), pacto()
    first = decide(obj, world(text, obj))
    (event,) = first.notices
    assert (event.type, event.reason) == ("Warning", "ReadinessExpiring")
    assert "2026-11-30, in 13 days" in event.message
    after, seen = _settled(text, obj)
    tomorrow = msgspec.structs.replace(seen, now=NOW + timedelta(days=1))
    assert decide(after, tomorrow).notices == ()
    far = decide(obj, world(_ready("2027-11-30"), obj))
    assert far.notices == ()
    assert [each.type for each in far.conditions] == ["ContractValid", "ReadinessSatisfied"]


def test_a_registry_with_a_passing_fault_is_reported_and_changes_neither_status_nor_counts() -> None:
    obj, seen = _settled(contract(), pacto(target=_TARGET), snapshot=running())
    before = _status(obj)
    faulty = msgspec.structs.replace(seen, fault="registry.example.org answered 503")
    obj = written(obj, decide(obj, faulty), NOW)
    after = _status(obj)
    (told,) = (each for each in after["conditions"] if each["type"] == "ContractOutdated")
    assert (told["status"], told["reason"]) == ("Unknown", "RegistryFault")
    assert "503" in told["message"]
    assert (after["contractStatus"], after["summary"]) == (before["contractStatus"], before["summary"])
    assert after["contractStatus"] == "Compliant"
    obj = written(obj, decide(obj, seen), NOW)
    assert _status(obj)["conditions"] == before["conditions"]


def test_a_status_has_limited_size_and_says_what_it_omits() -> None:
    many = "".join(f"  key-{number}: {'x' * 1000}\n" for number in range(700))
    obj = pacto()
    after, _ = _settled(contract(more=f"metadata:\n{many}"), obj)
    status = _status(after)
    assert len(after.status) < 300_000
    assert (status["contractStatus"], status["contractVersion"], "metadata" in status) == ("Reference", "1.0.0", False)
    condition = next(each for each in status["conditions"] if each["type"] == "StatusComplete")
    assert (condition["status"], condition["reason"]) == ("False", "TooLarge")
    assert "omits metadata" in condition["message"]
    after, _ = _settled(contract(), after)
    assert "StatusComplete" not in {each["type"] for each in _status(after)["conditions"]}


def test_a_finding_repeats_no_endless_text() -> None:
    after, _ = _settled(contract().replace("name: web", f"name: web, visibility: {'v' * 500_000}"), pacto())
    assert len(after.status) < 20_000
