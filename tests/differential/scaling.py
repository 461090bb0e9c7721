"""The part of the conversation with odd Scales, and with JSON patches that are none."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tests.api.objects import deployment
from tests.differential.step import APPLY, DEPLOY, JSON, MERGE, Step

_SCALE = f"{DEPLOY}/odd-scale/scale?dryRun=All"
_ODD: list[dict[str, Any]] = [
    {"spec": {"replicas": "x"}},
    {"spec": {"replicas": None}},
    {"spec": {"replicas": 1.5}},
    {"spec": {"replicas": True}},
    {"spec": {"replicas": -1}},
    {"spec": {"replicas": 3_000_000_000}},
    {"spec": []},
    {"spec": None},
    {"spec": {"bogus": 1}},
    {"status": {"selector": 5}},
    {"status": {"bogus": 5}},
    {"bogus": 1},
    {"metadata": {"name": "odd-scale", "bogus": 1}},
    {"metadata": {"name": "odd-scale", "finalizers": ""}},
    {"metadata": {"name": "other"}},
    {"metadata": {"name": "odd-scale", "resourceVersion": "1"}},
    {"metadata": {"name": "odd-scale", "uid": "x"}},
    {"metadata": None},
    {"kind": "X"},
    {"apiVersion": "v1"},
]
_OPERATIONS: list[Any] = [
    {},
    "x",
    [None],
    [[]],
    [5],
    [{}],
    [{"op": "bogus", "path": "/a"}],
    [{"op": "add"}],
    [{"op": "add", "path": "/metadata/labels"}],
    [{"op": "remove", "path": 5}],
    [{"op": 5, "path": "/a"}],
    [{"op": "copy", "path": "/a"}],
    [{"op": "move", "path": "/metadata/labels", "from": "/x"}],
]


def _nameless(*path: str) -> dict[str, Any]:
    found = deepcopy(deployment())
    holder: dict[str, Any] = found
    for name in path:
        holder = holder[name]
    holder[""] = "x"
    return found


SCALING_STEPS = [
    Step("odd scale", "POST", DEPLOY, {**deployment(), "metadata": {"name": "odd-scale"}}),
    *(
        Step(f"odd scale {at}: {verb}{mode}", method, f"{_SCALE}{mode and f'&fieldValidation={mode}'}", whole, media)
        for at, body in enumerate(_ODD)
        for verb, method, media in (("merge", "PATCH", MERGE), ("put", "PUT", ""))
        for whole in [body if verb == "merge" else {"metadata": {"name": "odd-scale"}, **body}]
        for mode in ("", "Strict")
    ),
    *(
        Step(f"odd operations {at} of {part or 'all'}", "PATCH", f"{DEPLOY}/odd-scale{part}?dryRun=All", body, JSON)
        for at, body in enumerate(_OPERATIONS)
        for part in ("", "/scale", "/status")
    ),
    *(
        Step(f"nameless field {at}", "POST", f"{DEPLOY}?dryRun=All", _nameless(*path))
        for at, path in enumerate([(), ("spec",), ("spec", "template", "spec")])
    ),
    Step(
        "odd scale applied",
        "PATCH",
        f"{_SCALE}&fieldManager=me",
        {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 2, "bogus": 1}},
        APPLY,
    ),
]
