"""What the cells of a list say of an object."""

from __future__ import annotations

import pytest

from homeostat.web.dashboard.objects.cell import look_of_cell


@pytest.mark.parametrize(
    ("column", "text", "kind", "look"),
    [
        ("Status", "Running", "Pod", "good"),
        ("Status", "CrashLoopBackOff", "Pod", "bad"),
        ("Status", "Init:ImagePullBackOff", "Pod", "bad"),
        ("Status", "Init:0/1", "Pod", "phase-reconciling"),
        ("Status", "Terminating", "Pod", "phase-deleting"),
        ("Status", "Ready,SchedulingDisabled", "Node", "warn"),
        ("Status", "Something New", "Pod", ""),
        ("Ready", "0/3", "Deployment", "warn"),
        ("Ready", "3/3", "Deployment", ""),
        ("Ready", "0/1", "Pod", ""),
        ("Ready", "False", "Pacto", "bad"),
        ("Healthy", "no", "DevOpsPolicy", "bad"),
        ("Healthy", "yes", "DevOpsPolicy", "good"),
        ("Enabled", "no", "ImageUpdate", ""),
        ("Type", "Warning", "Event", "warn"),
        ("Type", "Opaque", "Secret", ""),
        ("Available", "3", "Deployment", ""),
        ("Name", "failed", "Pod", ""),
    ],
)
def test_a_state_that_is_known_has_a_look(column: str, text: str, kind: str, look: str) -> None:
    assert look_of_cell(column, text, kind) == look
