"""`homeostat wait` ends when objects are as required, and says so when they are not."""

from __future__ import annotations

import pytest

from homeostat.cli.objects.wait import parse_goal
from homeostat.objects.json import JsonObject
from tests.cli.running import Up

READY: JsonObject = {"type": "Ready", "status": "True"}
MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, data: {mode: MODE}}"


def obj(*conditions: JsonObject, generation: int = 1, **status: object) -> JsonObject:
    return {"metadata": {"generation": generation}, "status": {"conditions": list(conditions), **status}}


@pytest.mark.parametrize(
    ("goal", "state", "holds"),
    [
        ("condition=Ready", obj(READY), True),
        ("condition=ready=true", obj(READY), True),
        ("condition=Ready=False", obj(READY), False),
        ("condition=Ready=False", obj({"type": "Ready", "status": "False"}), True),
        ("condition=Ready", obj(), False),
        ("condition=Ready", {"metadata": {}}, False),
        ("condition=Ready", obj({**READY, "observedGeneration": 1}, generation=2), False),
        ("condition=Ready", obj({**READY, "observedGeneration": 2}, generation=2), True),
        ("condition=Ready", obj(READY, generation=2, observedGeneration=1), False),
        ("jsonpath={.status.phase}=Bound", obj(phase="Bound"), True),
        ("jsonpath={.status.phase}='Bound'", obj(phase="Bound"), True),
        ("jsonpath={.status.phase}=Lost", obj(phase="Bound"), False),
        ("jsonpath=.status.ready=3", obj(ready=3), True),
        ("jsonpath={.status.phase}", obj(phase=""), True),
        ("jsonpath={.status.phase}", obj(), False),
        ('jsonpath={.status.conditions[?(@.type=="Ready")].status}=True', obj(READY), True),
        ("create", obj(), True),
        ("create", None, False),
        ("delete", None, True),
        ("delete", obj(), False),
    ],
)
def test_a_goal_holds_for_a_state(goal: str, state: JsonObject | None, holds: bool) -> None:
    assert parse_goal(goal).holds(state) is holds


@pytest.mark.parametrize("text", ["", "Ready", "condition=", "jsonpath=", "jsonpath={.a", "jsonpath={.a}b", "deleted"])
def test_what_is_no_goal_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_goal(text)


def test_a_change_is_waited_for(up: Up) -> None:
    cli = up.cli
    waiting = cli.start("wait", "cm/changing", "--for=create", "--timeout", "25s")
    cli.here("apply", "-f", "-", stdin=MAP.replace("NAME", "changing").replace("MODE", '"1"'))
    assert waiting.communicate(timeout=30) == ("configmap/changing condition met\n", "")
    waiting = cli.start("wait", "cm/changing", "--for=jsonpath={.data.mode}=2", "--timeout", "25s")
    cli.here("apply", "-f", "-", stdin=MAP.replace("NAME", "changing").replace("MODE", '"2"'))
    assert waiting.communicate(timeout=30) == ("configmap/changing condition met\n", "")
    waiting = cli.start("wait", "cm/changing", "--for=delete", "--timeout", "25s")
    cli.here("delete", "cm/changing")
    assert waiting.communicate(timeout=30) == ("configmap/changing condition met\n", "")
    assert waiting.returncode == 0


@pytest.mark.parametrize(
    ("words", "code", "out", "err"),
    [
        (["ns/default", "--for=jsonpath={.status.phase}=Active"], 0, "namespace/default condition met\n", ""),
        (
            ["ns/default", "--for=condition=Nope", "--timeout", "0"],
            1,
            "",
            "timed out after 0 s waiting for condition Nope; it has no conditions; see: homeostat describe",
        ),
        (
            ["ns/default", "--for=jsonpath={.status.phase}=Gone", "--timeout", "0"],
            1,
            "",
            "waiting for {.status.phase}=Gone; it is Active; see",
        ),
        (["ns/default", "--for=delete", "--timeout", "0"], 1, "", "waiting for its deletion; it is not being deleted;"),
        (["cm/nope", "--for=create", "--timeout", "0"], 1, "", "waiting for its creation; it does not exist;"),
        (["cm/nope", "--for=condition=Ready"], 1, "", "error: configmap/nope: it does not exist"),
        (["ns/default", "--for=jsonpath={.metadata.*}=a"], 1, "", "values; wait compares one"),
        (["cm", "-l", "app=nope", "--for=delete"], 0, "", ""),
        (["cm", "-l", "app=nope", "--for=create"], 1, "", "no objects match"),
        (["cm", "-l", "app=nope", "--for=condition=Ready"], 1, "", "no objects match"),
        (["ns", "--for=delete"], 2, "", "--selector or --all"),
        (["ns/default", "--for=nope"], 2, "", "is not one of condition=NAME"),
        (["ns/default", "--for=delete", "--timeout", "soon"], 2, "", "expected one like 30s"),
        (["--for=delete"], 2, "", "-f FILE"),
    ],
)
def test_waiting_ends_with_the_code_of_its_result(up: Up, words: list[str], code: int, out: str, err: str) -> None:
    ended = up.cli.here("wait", *words)
    assert (ended.code, ended.out) == (code, out)
    assert err in ended.err


def test_objects_of_a_selector_and_of_a_file_are_waited_for(up: Up) -> None:
    names = up.cli.here("wait", "ns", "--all", "--for=jsonpath={.status.phase}=Active").out.splitlines()
    assert {"namespace/default condition met", "namespace/kube-system condition met"} <= set(names)
    declared = "{apiVersion: v1, kind: Namespace, metadata: {name: default}}"
    ended = up.cli.here("wait", "-f", "-", "--for=create", stdin=declared)
    assert ended.out == "namespace/default condition met\n"
