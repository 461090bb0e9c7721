"""The class of a Pod by its containers' resources."""

from __future__ import annotations

import pytest

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.defaults.qos import qos_class

_FULL = {"cpu": "1", "memory": "1Gi"}


def _container(requests: JsonObject | None = None, limits: JsonObject | None = None) -> JsonObject:
    return {"name": "a", "resources": {"requests": requests or {}, "limits": limits or {}}}


@pytest.mark.parametrize(
    ("containers", "found"),
    [
        ([_container()], "BestEffort"),
        ([_container({"example.com/gpu": "1"}, {"example.com/gpu": "1"})], "BestEffort"),
        ([_container({"cpu": "0"})], "BestEffort"),
        ([_container(_FULL, _FULL)], "Guaranteed"),
        ([_container({"cpu": "1000m", "memory": "1024Mi"}, _FULL)], "Guaranteed"),
        ([_container(_FULL, _FULL), _container()], "Burstable"),
        ([_container(_FULL, {"cpu": "2", "memory": "1Gi"})], "Burstable"),
        ([_container({"cpu": "1"}, {"cpu": "1"})], "Burstable"),
        ([_container({"cpu": "nonsense"})], "BestEffort"),
    ],
)
def test_the_class_follows_from_the_resources(containers: list[JsonObject], found: str) -> None:
    assert qos_class({"spec": {"containers": containers}}) == found
    assert qos_class({"spec": {"containers": containers[:1], "initContainers": containers[1:]}}) == found
