"""When a Pod is ready, or killed, by its probes."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import OUTCOME, READY_AFTER, Pod, PodStatus
from homeostat.operators.workloads.pods.decide import decide
from homeostat.operators.workloads.pods.probes import UNPROBED, Probed, probed
from homeostat.operators.workloads.pods.rules import Fate, fate_of
from homeostat.operators.workloads.pods.state import PodState
from homeostat.operators.workloads.pods.status import status_of
from tests.operators.workloads.objects import pod

HTTP: JsonObject = {"httpGet": {"path": "/", "port": 80}}
FALSE: JsonObject = {"exec": {"command": ["/bin/false"]}}
DELETES = ["/bin/sh", "-c", "touch /tmp/up; sleep 30; rm -f /tmp/up; sleep 600"]
WAITS = ["sh", "-c", "sleep 600"]
BRIEF = ["sh", "-c", "sleep 2; touch /tmp/up; sleep 3; rm /tmp/up; sleep 600"]
CAT: JsonObject = {"exec": {"command": ["cat", "/tmp/up"]}, "periodSeconds": 5}
USUAL = Fate(after_s=0.0)
NEVER = math.inf


def mounted(path: str) -> JsonObject:
    return {"volumeMounts": [{"name": "a", "mountPath": path}]}


def probed_pod(*containers: JsonObject, **fields: Any) -> Pod:
    given = [{"name": f"c{number}", "image": "app:1", **each} for number, each in enumerate(containers)]
    return pod(spec={"containers": given, **fields.pop("spec", {})}, **fields)


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ([{}], UNPROBED),
        ([{"readinessProbe": HTTP}], Probed(0.0, NEVER)),
        ([{"readinessProbe": {**HTTP, "initialDelaySeconds": 20}}], Probed(20.0, NEVER)),
        ([{"readinessProbe": {**HTTP, "successThreshold": 3, "periodSeconds": 5}}], Probed(10.0, NEVER)),
        ([{"readinessProbe": FALSE}], Probed(NEVER, NEVER)),
        ([{"readinessProbe": {"exec": {"command": ["sleep", "2"]}}}], Probed(NEVER, NEVER)),
        ([{"readinessProbe": {"exec": {"command": ["sleep", "2"]}, "timeoutSeconds": 3}}], Probed(0.0, NEVER)),
        ([{"readinessProbe": {"exec": {"command": ["cat", "/ready"]}}}], Probed(0.0, NEVER)),
        ([{"startupProbe": {**HTTP, "initialDelaySeconds": 30}, "readinessProbe": HTTP}], Probed(30.0, NEVER)),
        ([{"startupProbe": {**FALSE, "failureThreshold": 4, "periodSeconds": 2}}], Probed(NEVER, 6.0)),
        ([{"livenessProbe": HTTP}], Probed(0.0, NEVER)),
        ([{"livenessProbe": {**FALSE, "initialDelaySeconds": 5}}], Probed(0.0, 25.0)),
        ([{"command": DELETES, "livenessProbe": {**CAT, "initialDelaySeconds": 5}}], Probed(0.0, 40.0)),
        ([{"command": DELETES, "livenessProbe": {**CAT, "failureThreshold": 1}}], Probed(0.0, 30.0)),
        ([{"command": DELETES, "livenessProbe": {**CAT, "initialDelaySeconds": 60}}], Probed(0.0, 70.0)),
        ([{"command": DELETES, "livenessProbe": {"exec": {"command": ["test", "-f", "/tmp/up"]}}}], Probed(0.0, 50.0)),
        ([{"command": DELETES[:2], "args": DELETES[2:], "livenessProbe": CAT}], Probed(0.0, 40.0)),
        ([{"command": ["sh", "-c", "echo a > /tmp/up && rm /tmp/up"], "livenessProbe": CAT}], Probed(0.0, 10.0)),
        ([{"command": ["sh", "-c", "echo a > /tmp/up; sleep 600"], "livenessProbe": CAT}], Probed(0.0, NEVER)),
        ([{"command": ["sh", "-c", "touch /tmp/up; app; rm /tmp/up"], "livenessProbe": CAT}], Probed(0.0, NEVER)),
        ([{"command": ["sh", "-c", "sleep 12; touch /tmp/up; app"], "readinessProbe": CAT}], Probed(15.0, NEVER)),
        ([{"command": ["sh", "-c", "sleep 12; touch /tmp/up; app"], "startupProbe": CAT}], Probed(NEVER, 10.0)),
        ([{"command": ["sh", "-c", "sleep 9; touch /tmp/up; app"], "startupProbe": CAT}], Probed(10.0, NEVER)),
        ([{"command": ["sleep", "600"], "startupProbe": CAT}], Probed(0.0, NEVER)),
        ([{"command": WAITS, "startupProbe": CAT, **mounted("/tmp")}], Probed(0.0, NEVER)),
        ([{"command": WAITS, "startupProbe": CAT, **mounted("/tmp/up")}], Probed(0.0, NEVER)),
        ([{"command": WAITS, "startupProbe": CAT, **mounted("/tmp/u")}], Probed(NEVER, 10.0)),
        ([{"command": WAITS, "startupProbe": CAT, "lifecycle": {"postStart": CAT}}], Probed(0.0, NEVER)),
        ([{"command": WAITS, "livenessProbe": {"tcpSocket": {"host": "10.0.0.1", "port": 80}}}], Probed(0.0, NEVER)),
        *(
            ([{"command": ["sh", "-c", f"{script}; sleep 600"], "startupProbe": CAT}], Probed(0.0, NEVER))
            for script in (
                "cd /tmp; touch up",
                "touch up",
                "touch /tmp/./up",
                "echo ok | tee /tmp/up",
                'echo ok > "/tmp/up"',
                "echo ok >> /tmp/up",
                "echo ok > /tmp/up 2>&1",
                "touch /tmp/{down,up}",
            )
        ),
        ([{"command": BRIEF, "livenessProbe": {**CAT, "periodSeconds": 10}}], Probed(0.0, 20.0)),
        ([{"command": ["sh", "-c", "sleep 600"], "startupProbe": CAT}], Probed(NEVER, 10.0)),
        ([{"command": ["sleep", "600"], "livenessProbe": {**HTTP, "initialDelaySeconds": 10}}], Probed(0.0, 30.0)),
        ([{"command": ["sleep", "600"], "livenessProbe": HTTP}, {"image": "nginx"}], Probed(0.0, NEVER)),
        ([{"command": ["sh", "-c", "while true; do nc -l 80; done"], "livenessProbe": HTTP}], Probed(0.0, NEVER)),
        ([{}, {"readinessProbe": {**HTTP, "initialDelaySeconds": 2}}, {"readinessProbe": HTTP}], Probed(2.0, NEVER)),
        ([{"readinessProbe": {"exec": {"command": ["sh", "-c", "false;" * 9999]}}}], Probed(0.0, NEVER)),
    ],
)
def test_the_delays_of_probes(containers: list[JsonObject], expected: Probed) -> None:
    assert probed(probed_pod(*containers).spec) == expected


def stages(found: Pod, *moments: float) -> list[str]:
    fate = fate_of(found, (), USUAL)
    pictures = [decide(found, fate, each).state for each in moments]
    return ["" if each is None else each.reason or each.stage for each in pictures]


def test_a_readiness_probe_delays_readiness() -> None:
    slow = {"readinessProbe": {**HTTP, "initialDelaySeconds": 20}}
    assert stages(probed_pod(slow), 1.0, 19.0, 21.0) == ["running", "running", "ready"]
    assert stages(probed_pod({"readinessProbe": FALSE}), 1.0, 1e6) == ["running", "running"]


def test_a_container_that_ends_does_so_whatever_its_probes_say() -> None:
    once = {"spec": {"restartPolicy": "Never"}, "status": {}}
    slow = {"command": ["sleep", "9"], "readinessProbe": {"exec": {"command": ["true"]}, "initialDelaySeconds": 5}}
    assert stages(probed_pod(slow, **once), 4.0, 6.0, 10.0) == ["running", "ready", "Completed"]
    never = {"command": ["sleep", "9"], "readinessProbe": FALSE}
    assert stages(probed_pod(never, **once), 4.0, 10.0) == ["running", "Completed"]


def test_a_failing_startup_or_liveness_probe_restarts_the_container() -> None:
    starts = {"startupProbe": {**FALSE, "failureThreshold": 2, "periodSeconds": 5}}
    assert stages(probed_pod(starts), 1.0, 6.0) == ["running", "CrashLoopBackOff"]
    lives = {"livenessProbe": {**FALSE, "failureThreshold": 2, "periodSeconds": 5}}
    assert stages(probed_pod(lives), 1.0, 11.0) == ["ready", "CrashLoopBackOff"]
    fate = fate_of(probed_pod(lives), (), USUAL)
    assert (fate.outcome, fate.exit_code) == ("fail", 137)


def test_annotations_win_over_probes() -> None:
    slow = {"readinessProbe": {**HTTP, "initialDelaySeconds": 20}}
    early = probed_pod(slow, metadata={"annotations": {READY_AFTER: "1s"}})
    assert stages(early, 2.0) == ["ready"]
    forced = probed_pod({"readinessProbe": FALSE}, metadata={"annotations": {OUTCOME: "ready"}})
    assert stages(forced, 2.0) == ["ready"]


def test_a_container_has_not_started_until_its_startup_probe_succeeds() -> None:
    def started(stage: Any) -> bool:
        found = probed_pod({"startupProbe": HTTP})
        status = status_of(found, PodState(stage), now="2026-11-17T12:00:00Z", ip="10.0.0.1", host_ip="")
        return bool(status["containerStatuses"][0]["started"])

    assert (started("running"), started("ready")) == (False, True)


def test_a_container_runs_since_its_start_and_not_since_it_is_ready() -> None:
    began, later = "2026-11-17T12:00:00Z", "2026-11-17T12:00:15Z"
    found = probed_pod({"readinessProbe": {**HTTP, "initialDelaySeconds": 15}}, status={"conditions": []})
    first = status_of(found, PodState("running"), now=began, ip="10.0.0.1", host_ip="")
    shown = msgspec.structs.replace(found, status=msgspec.convert(first, PodStatus))
    status = status_of(shown, PodState("ready"), now=later, ip="10.0.0.1", host_ip="")
    assert status["containerStatuses"][0]["state"] == {"running": {"startedAt": began}}
    again = status_of(shown, PodState("ready", restarts=1, ended="Error"), now=later, ip="10.0.0.1", host_ip="")
    assert again["containerStatuses"][0]["state"] == {"running": {"startedAt": later}}
