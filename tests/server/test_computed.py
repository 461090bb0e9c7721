"""Kinds whose objects are computed when they are read are read like others, without blocking the event loop."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from homeostat.objects.errors import BadRequestError, TooManyRequestsError
from homeostat.plane import Plane, Settings, open_plane
from homeostat.server.kinds.custom.behaviour import CustomBehaviour
from homeostat.server.kinds.registry import Compute, Kind
from homeostat.server.request.in_flight import InFlight

PATH = "/apis/weather.example.com/v1/winds"


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[Plane]:
    async with open_plane(Settings(data=tmp_path, port=0, operators=frozenset())) as plane:
        yield plane


def _serve(plane: Plane, compute: Compute) -> None:
    kind = Kind(
        group="weather.example.com",
        version="v1",
        kind="Wind",
        plural="winds",
        namespaced=False,
        verbs=("get", "list"),
        custom=True,
        behaviour=CustomBehaviour({"type": "object"}, ()),
        compute=compute,
    )
    plane.app.backend.registry.add([kind])


class _Wind(dict[str, Any]):
    """Notes in which threads it is read."""

    readers: set[int]

    def __getitem__(self, key: str) -> Any:
        self.readers.add(threading.get_ident())
        return super().__getitem__(key)


@pytest.mark.parametrize(("count", "is_in_thread"), [(10, False), (2_001, True)])
async def test_many_computed_objects_are_encoded_in_a_thread(plane: Plane, count: int, *, is_in_thread: bool) -> None:
    readers: set[int] = set()

    async def compute(_: str) -> list[dict[str, Any]]:
        found = [_Wind(apiVersion="v1", kind="Wind", metadata={"name": f"w{each}"}) for each in range(count)]
        for each in found:
            each.readers = readers
        return [*found]

    _serve(plane, compute)
    page = await plane.client.request("GET", PATH, {"fieldSelector": "metadata.name!=w0"})
    assert len(page["items"]) == count - 1
    assert (threading.get_ident() not in readers) is is_in_thread
    with pytest.raises(BadRequestError, match="field label not supported"):
        await plane.client.request("GET", PATH, {"fieldSelector": "spec.speed=3"})


async def test_computed_objects_are_read_by_as_many_calls_at_once_as_others(plane: Plane) -> None:
    plane.app.in_flight = InFlight(most_reads=1, most_waiting=0)

    async def compute(_: str) -> list[dict[str, Any]]:
        await plane.client.get("/api/v1/namespaces/default")
        return []

    _serve(plane, compute)
    with pytest.raises(TooManyRequestsError, match="too many reads at once"):
        await plane.client.request("GET", PATH)


async def test_a_definition_does_not_get_the_names_of_a_computed_kind(plane: Plane) -> None:
    async def compute(_: str) -> list[dict[str, Any]]:
        return []

    _serve(plane, compute)
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "winds", "kind": "Wind"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "winds.weather.example.com"},
        "spec": {"group": "weather.example.com", "scope": "Cluster", "names": names, "versions": [version]},
    }
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    stored = await plane.client.create(definitions, definition)
    assert {each["type"]: each["status"] for each in stored["status"]["conditions"]} == {
        "NamesAccepted": "False",
        "Established": "False",
    }
    await plane.client.delete(f"{definitions}/winds.weather.example.com")
    assert (await plane.client.request("GET", PATH))["items"] == []
