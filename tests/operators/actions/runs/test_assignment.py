from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from homeostat.client.base import Client
from homeostat.objects.declared import Metadata
from homeostat.operators.actions.api import Resource, ResourceStatus, ResourceTypeSpec
from homeostat.operators.actions.dependencies import Dependencies
from homeostat.operators.actions.plugins.catalog import Catalog
from homeostat.operators.actions.plugins.plugin import Plugin
from homeostat.operators.actions.runs.assignment import Assignments
from homeostat.operators.actions.world import Fault
from tests.operators.actions.real_plugin import Nowhere


@pytest.mark.parametrize(
    ("troubles", "disputes", "told"),
    [
        ({}, {}, "no reconciler has claimed the type"),
        ({"roles": "ImportError: no asyncpg"}, {}, "failed to load: roles: ImportError: no asyncpg"),
        ({}, {"Role": ("a", "b")}, "several reconcilers claim the type: a, b; set action.plugin of the type"),
    ],
    ids=["nobody claims it", "a plugin is broken", "two claim it"],
)
def test_a_resource_without_a_plugin_says_why(
    troubles: dict[str, str], disputes: dict[str, tuple[str, ...]], told: str
) -> None:
    plugins: Catalog[Plugin[Any]] = Catalog({}, troubles)
    dependencies = Dependencies(
        client=Client(Nowhere()), plugins=plugins, stores={}, directory=Path("/nonexistent"), disputes=disputes
    )
    assignments = Assignments(lambda _: ResourceTypeSpec(name="Role"), dependencies)
    role = Resource(metadata=Metadata("orders"))
    fault = assignments.make(role, ResourceStatus(), assignments.wanted(role))
    assert isinstance(fault, Fault)
    assert fault.message.endswith(told)
