"""`check_status` finds what no operator's object may say."""

from __future__ import annotations

import pytest

from homeostat.objects.json import Json, JsonObject
from homeostat.testing.status import check_status, condition_of


def condition(name: str = "Ready", status: str = "True", **more: Json) -> JsonObject:
    message = "" if status == "True" else "why"
    time = "2026-05-04T12:00:00Z"
    return {"type": name, "status": status, "reason": "Because", "message": message, "lastTransitionTime": time, **more}


def widget(*conditions: Json, **status: Json) -> JsonObject:
    metadata = {"name": "w", "generation": 2}
    return {"kind": "Widget", "metadata": metadata, "status": {"conditions": list(conditions), **status}}


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(widget(condition()), id="ready"),
        pytest.param(widget(condition(), observedGeneration=2), id="of this generation"),
        pytest.param(widget(condition(observedGeneration=1), observedGeneration=1), id="of the one before"),
        pytest.param(widget(condition(status="False"), condition("Stalled")), id="stalled and not ready"),
        pytest.param(widget(condition(), condition("Stalled", "False")), id="ready and not stalled"),
        pytest.param(widget(condition(lastTransitionTime="2026-05-04T14:00:00+02:00")), id="another zone"),
    ],
)
def test_a_sound_status_passes(obj: JsonObject) -> None:
    check_status(obj)


@pytest.mark.parametrize(
    ("obj", "fault"),
    [
        pytest.param({"metadata": {"name": "w"}}, "Ready is missing", id="no status"),
        pytest.param(widget(condition("Synced")), "Ready is missing", id="no Ready"),
        pytest.param(widget(condition(), observedGeneration=3), "observedGeneration 3", id="ahead of its object"),
        pytest.param(widget(condition(observedGeneration=3)), "Ready has observedGeneration 3", id="condition ahead"),
        pytest.param(widget(condition(), observedGeneration="2"), "it is a number", id="generation as text"),
        pytest.param(widget(condition(), condition("Reconciling")), "Reconciling is True beside", id="reconciling"),
        pytest.param(widget(condition(), condition("Stalled")), "Stalled is True beside", id="stalled"),
        pytest.param(widget(condition(), condition()), "Ready appears 2 times", id="twice"),
        pytest.param(widget(condition(), {"status": "True"}), "1 of the conditions have no type", id="no type"),
        pytest.param(widget(condition(status="true")), "has status 'true'", id="status in small letters"),
        pytest.param(widget(condition(reason="not found")), "reason 'not found'", id="reason of two words"),
        pytest.param(widget(condition(reason="")), "reason ''", id="no reason"),
        pytest.param(widget(condition(reason="Ready\n")), "CamelCase", id="reason with a newline"),
        pytest.param(widget(condition(status="False", message=" ")), "no message", id="blank message"),
        pytest.param(widget(condition(status="Unknown", message="")), "no message", id="unknown without a message"),
        pytest.param(widget(condition(lastTransitionTime="yesterday")), "'yesterday'", id="no time"),
        pytest.param(widget(condition(lastTransitionTime=None)), "lastTransitionTime None", id="time missing"),
        pytest.param(widget(condition(lastTransitionTime="2026-02-30T00:00:00Z")), "not a time", id="no such day"),
    ],
)
def test_a_fault_is_reported(obj: JsonObject, fault: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_status(obj)
    assert fault in str(caught.value)


def test_all_faults_are_reported_at_once_with_the_name_of_the_object() -> None:
    with pytest.raises(AssertionError) as caught:
        check_status(widget(condition("Synced", reason="no"), observedGeneration=9))
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert all(line.startswith('Widget "w": ') for line in lines)


@pytest.mark.parametrize(
    ("status", "found"),
    [
        (None, {}),
        ({"conditions": None}, {}),
        ({"conditions": [{"type": "Stalled"}]}, {}),
        (
            {"conditions": [{"type": "Stalled"}, {"type": "Ready", "status": "True"}]},
            {"type": "Ready", "status": "True"},
        ),
    ],
    ids=["no status", "null", "another type", "there"],
)
def test_a_condition_is_found_by_its_type(status: JsonObject | None, found: JsonObject) -> None:
    assert condition_of({"status": status}, "Ready") == found
