"""Definitions of one group that want the same names, on a plane and on a real cluster."""

from __future__ import annotations

import asyncio
import uuid

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEFINITION
from homeostat.testing.eventually import eventually
from tests.cluster.fixtures import Api


def definition(group: str, plural: str, kind: str, *short_names: str, singular: str = "") -> JsonObject:
    schema = {"openAPIV3Schema": {"type": "object"}}
    names = {"plural": plural, "singular": singular or kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {**names, "shortNames": list(short_names)},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


async def decided(api: Api, name: str) -> tuple[JsonObject, dict[str, str]]:
    """The accepted names, and the reasons of the conditions."""

    async def status() -> JsonObject:
        status: JsonObject = (await api.client.get(DEFINITION.path("", name))).get("status") or {}
        return status

    def is_final(status: JsonObject) -> bool:
        reasons = [each["reason"] for each in status.get("conditions") or ()]
        return len(reasons) == 2 and "Installing" not in reasons

    found = await eventually(status, is_final)
    return found["acceptedNames"], {each["type"]: each["reason"] for each in found["conditions"]}


async def test_a_definition_gets_the_names_that_no_other_has(api: Api) -> None:
    group = f"{uuid.uuid4().hex[:8]}.example.com"
    created = [
        definition(group, "apples", "Apple", "ap"),
        definition(group, "pears", "Apple", "pe", singular="pear"),
        definition(group, "plums", "Plum", "pl", "ap", singular="apple"),
        definition(group, "figs", "Fig", "apples"),
    ]
    found = []
    for each in created:
        await api.client.create(DEFINITION.path(""), each)
        found.append(await decided(api, each["metadata"]["name"]))
    refused = {"Established": "NotAccepted"}
    assert found == [
        (created[0]["spec"]["names"], {"NamesAccepted": "NoConflicts", "Established": "InitialNamesAccepted"}),
        (
            {"plural": "pears", "singular": "pear", "shortNames": ["pe"], "kind": ""},
            {"NamesAccepted": "ListKindConflict", **refused},
        ),
        (
            {"plural": "plums", "kind": "Plum", "listKind": "PlumList"},
            {"NamesAccepted": "ShortNamesConflict", **refused},
        ),
        (
            {"plural": "figs", "singular": "fig", "kind": "Fig", "listKind": "FigList"},
            {"NamesAccepted": "ShortNamesConflict", **refused},
        ),
    ]


async def test_of_two_definitions_at_once_one_gets_the_name(api: Api) -> None:
    group = f"{uuid.uuid4().hex[:8]}.example.com"
    plurals = [f"things{index}" for index in range(6)]
    wanted = [definition(group, each, "Thing", singular=each) for each in plurals]
    await asyncio.gather(*(api.client.create(DEFINITION.path(""), each) for each in wanted))
    reasons = [(await decided(api, each["metadata"]["name"]))[1]["NamesAccepted"] for each in wanted]
    assert sorted(reasons) == ["ListKindConflict"] * 5 + ["NoConflicts"]


async def test_an_established_definition_stays_so_when_it_wants_a_name_that_is_taken(api: Api) -> None:
    group = f"{uuid.uuid4().hex[:8]}.example.com"
    for each in (definition(group, "apples", "Apple", "ap"), definition(group, "pears", "Pear", "pe")):
        await api.client.create(DEFINITION.path(""), each)
        await decided(api, each["metadata"]["name"])
    path = DEFINITION.path("", f"pears.{group}")

    async def conditions() -> dict[str, tuple[str, str]]:
        found = (await api.client.get(path))["status"]["conditions"]
        return {each["type"]: (each["status"], each["reason"]) for each in found}

    await eventually(conditions, lambda it: it["Established"][0] == "True")
    await api.client.merge(path, {"spec": {"names": {"shortNames": ["pe", "ap"]}}})
    found = await eventually(conditions, lambda it: it["NamesAccepted"][0] == "False")
    assert found == {
        "NamesAccepted": ("False", "ShortNamesConflict"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert (await api.client.list(f"/apis/{group}/v1/pears"))[0] == []
