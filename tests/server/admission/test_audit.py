"""What admission control adds to requests in the audit log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from homeostat.objects.errors import ApiError
from homeostat.plane import Plane, Settings, open_plane
from homeostat.testing.eventually import eventually
from tests.api.objects import CONFIGMAPS, configmap
from tests.server.admission.hooks import BINDINGS, POLICIES, VALIDATING, Hooks, binding, configuration, policy

SMALL = {"expression": "int(object.data.x) < 5", "message": "x is too large"}
FAILURE = "validation.policy.admission.k8s.io/validation_failure"


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Plane]:
    settings = Settings(data=data, port=0, operators=frozenset(), audit_log=data / "audit.log")
    async with open_plane(settings) as plane:
        yield plane


async def audited(plane: Plane, name: str) -> dict[str, str]:
    """Of the last request about a ConfigMap."""
    log = plane.settings.audit_log
    assert log is not None

    def read() -> list[dict[str, Any]]:
        lines = log.read_bytes().splitlines() if log.exists() else []
        return [each for each in map(json.loads, lines) if each.get("objectRef", {}).get("name") == name]

    async def found() -> list[dict[str, Any]]:
        return await asyncio.to_thread(read)

    return dict((await eventually(found, bool, within_s=10.0))[-1].get("annotations", {}))


async def put(plane: Plane, name: str, x: str) -> None:
    await plane.client.create(CONFIGMAPS, configmap(name, data={"x": x}))


async def set_policy(plane: Plane, *actions: str, **spec: Any) -> None:
    await plane.client.create(POLICIES, policy({"expression": "true"}, SMALL, **spec))
    await plane.client.create(BINDINGS, binding(validationActions=list(actions)))


async def test_a_failed_validation_is_in_the_audit_log(plane: Plane) -> None:
    await set_policy(plane, "Audit", "Warn")
    await put(plane, "good", "1")
    await put(plane, "bad", "9")
    assert await audited(plane, "good") == {}
    (failure,) = json.loads((await audited(plane, "bad"))[FAILURE])
    assert failure == {
        "message": "x is too large",
        "policy": "policy",
        "binding": "binding",
        "expressionIndex": 1,
        "validationActions": ["Audit", "Warn"],
    }


async def test_a_denied_write_is_audited_too(plane: Plane) -> None:
    await set_policy(plane, "Deny", "Audit")
    notes = [{"key": "size", "valueExpression": "'x is ' + object.data.x"}]
    await plane.client.create(POLICIES, policy({"expression": "true"}, name="then", auditAnnotations=notes))
    await plane.client.create(BINDINGS, binding("then", "then"))
    await plane.client.create(CONFIGMAPS, configmap("known", data={"x": "1"}))
    with pytest.raises(ApiError, match="x is too large"):
        await plane.client.merge(f"{CONFIGMAPS}/known", {"data": {"x": "9"}})

    async def shown() -> dict[str, str]:
        return await audited(plane, "known")

    found = await eventually(shown, lambda each: FAILURE in each, within_s=10.0)
    assert found["then/size"] == "x is 9", "policies after the one that denies are evaluated"


async def test_a_policy_annotates_what_it_sees(plane: Plane) -> None:
    notes = [
        {"key": "size", "valueExpression": "'x is ' + object.data.x"},
        {"key": "none", "valueExpression": "null"},
        {"key": "blank", "valueExpression": "' '"},
    ]
    await set_policy(plane, "Audit", auditAnnotations=notes)
    await plane.client.create(BINDINGS, binding("second", validationActions=["Audit"]))
    await put(plane, "one", "1")
    assert await audited(plane, "one") == {"policy/size": "x is 1"}


async def test_an_annotation_that_fails_denies_the_write(plane: Plane) -> None:
    await set_policy(plane, "Audit", auditAnnotations=[{"key": "size", "valueExpression": "string(object.data.y)"}])
    with pytest.raises(ApiError, match="no such key: y"):
        await put(plane, "one", "1")


async def test_annotations_of_webhooks_are_in_the_audit_log(plane: Plane, hooks: Hooks) -> None:
    noting = hooks.webhook("/note", lambda _: {"allowed": True, "auditAnnotations": {"a": "b"}})
    await plane.client.create(VALIDATING, configuration(noting))
    await put(plane, "one", "1")
    assert (await audited(plane, "one")) == {"note.hooks.example.com/a": "b"}


async def test_an_annotation_that_does_not_compile_is_refused_with_its_policy(plane: Plane) -> None:
    wrong = policy(SMALL, auditAnnotations=[{"key": "size", "valueExpression": "object.data.x +"}])
    with pytest.raises(ApiError, match=r"spec.auditAnnotations\[0\].valueExpression"):
        await plane.client.create(POLICIES, wrong)
