"""Aggregated roles show what they gather."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from homeostat.operators.housekeeping.roles import gathered_rules
from homeostat.plane import Settings, open_plane

_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def role(name: str, *resources: str, **labels: str) -> dict[str, Any]:
    rules = [{"apiGroups": [""], "resources": [each], "verbs": ["get"]} for each in resources]
    return {"metadata": {"name": name, "labels": labels}, "rules": rules}


def test_a_role_gathers_the_rules_of_those_it_selects_once() -> None:
    whole = {
        "metadata": {"name": "whole"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"in": "yes"}}]},
        "rules": [],
    }
    roles = [
        role("b", "pods", "secrets", **{"in": "yes"}),
        role("a", "pods", **{"in": "yes"}),
        role("c", "nodes"),
        whole,
    ]
    assert [rule["resources"] for rule in gathered_rules(whole, roles) or ()] == [["pods"], ["secrets"]]
    assert gathered_rules(roles[0], roles) is None


async def test_the_default_roles_show_their_rules(tmp_path: Path) -> None:
    async with open_plane(Settings(data=tmp_path, port=0)) as plane, asyncio.timeout(10):
        while True:
            admin = await plane.client.get(f"{_ROLES}/admin")
            edit = await plane.client.get(f"{_ROLES}/edit")
            if edit["rules"] and all(rule in admin["rules"] for rule in edit["rules"]):
                break
            await asyncio.sleep(0.02)
        assert len(admin["rules"]) >= len(edit["rules"])
