"""Aggregated roles show what they gather."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from homeostat.client.base import Client
from homeostat.objects.selectors import LabelSelector, selector_of
from homeostat.operators.housekeeping import roles as housekeeping_roles
from homeostat.operators.housekeeping.roles import Outline, gathered_roles
from homeostat.plane import Settings, open_plane
from homeostat.testing.eventually import eventually

_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def role(name: str, *resources: str, **labels: str) -> dict[str, Any]:
    rules = [{"apiGroups": [""], "resources": [each], "verbs": ["get"]} for each in resources]
    return {"metadata": {"name": name, "labels": labels}, "rules": rules}


def gathering(name: str, *resources: str, selects: str, **labels: str) -> dict[str, Any]:
    selectors = {"clusterRoleSelectors": [{"matchLabels": {selects: "yes"}}]}
    return {**role(name, *resources, **labels), "aggregationRule": selectors}


def gathered(role: dict[str, Any], roles: list[dict[str, Any]]) -> list[str] | None:
    return gathered_roles(msgspec.convert(role, Outline), msgspec.convert(roles, list[Outline]))


def test_a_role_gathers_those_it_selects() -> None:
    whole = gathering("whole", selects="in")
    roles = [role("b", "secrets", **{"in": "yes"}), role("a", "pods", **{"in": "yes"}), role("c", "nodes"), whole]
    assert gathered(whole, roles) == ["a", "b"]
    assert gathered(roles[0], roles) is None


def test_a_selector_is_read_once_for_all_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []

    def noted(value: object) -> LabelSelector:
        read.append(value)
        return selector_of(value)

    monkeypatch.setattr(housekeeping_roles, "selector_of", noted)
    whole = gathering("whole", selects="in")
    roles = [role(f"r{number}", f"r{number}", **{"in": "yes"}) for number in range(100)]
    assert len(gathered(whole, [*roles, whole]) or ()) == 100
    assert read == [{"matchLabels": {"in": "yes"}}]


def test_an_invalid_selector_gathers_nothing() -> None:
    whole = gathering("whole", selects="not a key!")
    assert gathered(whole, [role("a", "pods"), whole]) == []


def test_a_role_gathers_by_way_of_others_and_never_those() -> None:
    roles = [
        gathering("a", "pods", selects="b", a="yes"),
        gathering("b", "nodes", selects="a", b="yes"),
        role("c", "secrets", a="yes"),
    ]
    assert [gathered(each, roles) for each in roles[:2]] == [["c"], ["c"]]


async def test_the_rules_of_gathered_roles_are_written_once_and_only_those_roles_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[str] = []
    get = Client.get

    async def noted(client: Client, path: str, *args: Any, **more: Any) -> Any:
        decoded.append(path.removeprefix(f"{_ROLES}/"))
        return await get(client, path, *args, **more)

    async with open_plane(Settings(data=tmp_path, port=0, operators=frozenset({"housekeeping"}))) as plane:
        for each in (
            role("b", "pods", "secrets", whole="yes"),
            role("a", "pods", whole="yes"),
            role("other", "nodes"),
        ):
            await plane.client.create(_ROLES, each)
        monkeypatch.setattr(Client, "get", noted)
        await plane.client.create(_ROLES, gathering("whole", selects="whole"))
        shown = await eventually(lambda: get(plane.client, f"{_ROLES}/whole"), lambda found: bool(found["rules"]))
    assert [each["resources"] for each in shown["rules"]] == [["pods"], ["secrets"]]
    assert {"a", "b", "whole"} <= set(decoded)
    assert "other" not in decoded


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
