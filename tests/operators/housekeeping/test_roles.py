"""Aggregated roles show what they gather."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from homeostat.objects.selectors import LabelSelector, selector_of
from homeostat.operators.housekeeping import roles as housekeeping_roles
from homeostat.operators.housekeeping.roles import gathered_rules
from homeostat.plane import Settings, open_plane
from homeostat.testing.eventually import eventually

_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def role(name: str, *resources: str, **labels: str) -> dict[str, Any]:
    rules = [{"apiGroups": [""], "resources": [each], "verbs": ["get"]} for each in resources]
    return {"metadata": {"name": name, "labels": labels}, "rules": rules}


def gathering(name: str, *resources: str, selects: str, **labels: str) -> dict[str, Any]:
    selectors = {"clusterRoleSelectors": [{"matchLabels": {selects: "yes"}}]}
    return {**role(name, *resources, **labels), "aggregationRule": selectors}


def resources(rules: list[Any] | None) -> list[list[str]]:
    return [rule["resources"] for rule in rules or ()]


def test_a_role_gathers_the_rules_of_those_it_selects_once() -> None:
    whole = gathering("whole", selects="in")
    roles = [
        role("b", "pods", "secrets", **{"in": "yes"}),
        role("a", "pods", **{"in": "yes"}),
        role("c", "nodes"),
        whole,
    ]
    assert resources(gathered_rules(whole, roles)) == [["pods"], ["secrets"]]
    assert gathered_rules(roles[0], roles) is None


def test_a_selector_is_read_once_for_all_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []

    def noted(value: object) -> LabelSelector:
        read.append(value)
        return selector_of(value)

    monkeypatch.setattr(housekeeping_roles, "selector_of", noted)
    whole = gathering("whole", selects="in")
    roles = [role(f"r{number}", f"r{number}", **{"in": "yes"}) for number in range(100)]
    assert len(gathered_rules(whole, [*roles, whole]) or ()) == 100
    assert read == [{"matchLabels": {"in": "yes"}}]


def test_an_invalid_selector_gathers_nothing() -> None:
    whole = gathering("whole", selects="not a key!")
    assert gathered_rules(whole, [role("a", "pods"), whole]) == []


def test_a_role_gathers_by_way_of_others_and_never_what_those_show() -> None:
    roles = [
        gathering("a", "pods", selects="b", a="yes"),
        gathering("b", "nodes", selects="a", b="yes"),
        role("c", "secrets", a="yes"),
    ]
    assert [resources(gathered_rules(each, roles)) for each in roles[:2]] == [[["secrets"]], [["secrets"]]]


async def test_a_circle_of_roles_comes_to_rest(tmp_path: Path) -> None:
    async with open_plane(Settings(data=tmp_path, port=0, operators=frozenset({"housekeeping"}))) as plane:
        for each in (gathering("a", "pods", selects="b", a="yes"), gathering("b", "nodes", selects="a", b="yes")):
            await plane.client.create(_ROLES, each)

        async def shown() -> list[Any]:
            return [await plane.client.get(f"{_ROLES}/{name}") for name in "ab"]

        rested = await eventually(shown, lambda found: not any(each["rules"] for each in found))
        await asyncio.sleep(0.3)
        assert await shown() == rested


async def test_the_default_roles_show_their_rules(tmp_path: Path) -> None:
    async with open_plane(Settings(data=tmp_path, port=0)) as plane, asyncio.timeout(30):
        while True:
            admin = await plane.client.get(f"{_ROLES}/admin")
            edit = await plane.client.get(f"{_ROLES}/edit")
            if edit["rules"] and all(rule in admin["rules"] for rule in edit["rules"]):
                break
            await asyncio.sleep(0.02)
        assert len(admin["rules"]) >= len(edit["rules"])
