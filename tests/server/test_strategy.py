from __future__ import annotations

from typing import Any

import pytest

from homeostat.objects.errors import BadRequestError
from homeostat.server.kinds.builtin import BuiltinBehaviour
from homeostat.server.kinds.registry import Kind
from homeostat.server.strategy import prepare_create, prepare_update, spec_differs

DAEMON_SET = Kind("apps", "v1", "DaemonSet", "daemonsets", namespaced=True, has_status=True)
POD = Kind("", "v1", "Pod", "pods", namespaced=True, has_status=True, behaviour=BuiltinBehaviour("", "v1", "Pod"))
COUNT = "deprecated.daemonset.template.generation"
INT64_MAX = 2**63 - 1


def daemon(count: str, template: str = "a") -> dict[str, Any]:
    return {"metadata": {"name": "d", "annotations": {COUNT: count}}, "spec": {"template": template}}


@pytest.mark.parametrize(
    ("given", "stored"),
    [("7", "7"), ("+7", "7"), ("-7", "1"), ("0" * 9000 + "7", "7"), (str(INT64_MAX), str(INT64_MAX))],
    ids=["plain", "positive", "negative", "zeros", "largest"],
)
def test_a_template_generation_is_any_int64(given: str, stored: str) -> None:
    obj = daemon(given)
    prepare_create(DAEMON_SET, obj, uid="u", now="2026-01-01T00:00:00Z")
    assert obj["metadata"]["annotations"][COUNT] == stored


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (str(INT64_MAX + 1), "value out of range"),
        (str(-INT64_MAX - 2), "value out of range"),
        ("9" * 9000, "value out of range"),
        ("seven", "invalid syntax"),
        ("", "invalid syntax"),
    ],
    ids=["too large", "too small", "far too large", "a word", "nothing"],
)
def test_a_template_generation_that_is_no_int64_is_refused_but_a_stored_one_counts_as_0(
    given: str, reason: str
) -> None:
    with pytest.raises(BadRequestError, match=reason):
        prepare_create(DAEMON_SET, daemon(given), uid="u", now="2026-01-01T00:00:00Z")
    new = daemon("1", "b")
    prepare_update(DAEMON_SET, new, daemon(given))
    assert new["metadata"]["annotations"][COUNT] == "1"


def test_the_largest_template_generation_stays() -> None:
    new = daemon("1", "b")
    prepare_update(DAEMON_SET, new, daemon(str(INT64_MAX)))
    assert new["metadata"]["annotations"][COUNT] == str(INT64_MAX)


def test_zeros_that_an_earlier_version_stored_are_no_change() -> None:
    behaviour = POD.behaviour
    old = {
        "metadata": {"name": "p"},
        "spec": {"hostIPC": False, "containers": [{"name": "c", "image": "b", "stdin": False}]},
    }
    new: dict[str, Any] = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "b"}]}}
    assert not spec_differs(POD, new, old)
    assert [each for each in behaviour.check_update(new, old) if each.field == "spec"] == []
    assert spec_differs(POD, {**new, "spec": {**new["spec"], "hostIPC": True}}, old)
