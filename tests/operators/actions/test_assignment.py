from __future__ import annotations

from pathlib import Path

import pytest

from homeostat.client.base import Client
from homeostat.objects.declared import Metadata
from homeostat.operators.actions.api import Resource, ResourceStatus, ResourceTypeSpec
from homeostat.operators.actions.assignment import Assignments
from homeostat.operators.actions.discovery import Catalog
from homeostat.operators.actions.means import Means
from homeostat.operators.actions.world import Fault
from tests.operators.actions.hosted import Nowhere


@pytest.mark.parametrize(
    ("troubles", "told"),
    [
        ({}, "no reconciler has claimed the type"),
        ({"roles": "ImportError: no asyncpg"}, "may: roles: ImportError: no asyncpg"),
    ],
    ids=["all plugins are there", "one is broken"],
)
def test_a_resource_without_a_plugin_says_which_could_not_be_loaded(troubles: dict[str, str], told: str) -> None:
    means = Means(client=Client(Nowhere()), plugins=Catalog({}, troubles), stores={}, directory=Path("/nonexistent"))
    assignments = Assignments(lambda: ResourceTypeSpec(name="Role"), means)
    role = Resource(metadata=Metadata("orders"))
    fault = assignments.make(role, ResourceStatus(), assignments.wanted(role))
    assert isinstance(fault, Fault)
    assert fault.message.endswith(told)
