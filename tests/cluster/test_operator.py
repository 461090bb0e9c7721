"""An operator is written once: what it does on a plane it does on a real cluster."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import CONFIG_MAP
from homeostat.runtime.leader import Terms
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from homeostat.testing.status import check_status
from tests.cluster.fixtures import Api
from tests.runtime.widgets import FINALIZER, WIDGETS, Remove, Widgets, Write, managed, widget


def conditions(obj: JsonObject) -> dict[str, tuple[str, str]]:
    found = (obj.get("status") or {}).get("conditions") or []
    return {each["type"]: (each["status"], each["reason"]) for each in found}


class Shop:
    """One Widget and the ConfigMap that is made for it."""

    def __init__(self, api: Api) -> None:
        self._client = api.client
        self._all = WIDGETS.kind.path(api.namespace)
        self._widget, self._note = f"{self._all}/a", CONFIG_MAP.path(api.namespace, "a")

    async def declare(self, mode: str = "") -> None:
        await self._client.create(self._all, widget("a", mode=mode))

    async def change(self, **spec: object) -> None:
        await self._client.merge(self._widget, {"spec": spec})

    async def delete(self) -> None:
        await self._client.delete(self._widget)

    async def tamper(self) -> None:
        await self._client.merge(self._note, {"data": {"text": "other"}})

    async def ends_with(self, expected: dict[str, tuple[str, str]]) -> JsonObject:
        obj = await eventually(lambda: self._client.get(self._widget), lambda obj: conditions(obj) == expected)
        check_status(obj)
        return obj

    async def says(self, text: str) -> JsonObject:
        return await eventually(lambda: self._client.get(self._note), lambda note: note["data"]["text"] == text)

    async def is_gone(self) -> None:
        async def are_gone() -> bool:
            return await _is_missing(self._client, self._widget) and await _is_missing(self._client, self._note)

        await eventually(are_gone)


async def _is_missing(client: Client, path: str) -> bool:
    try:
        await client.get(path)
    except NotFoundError:
        return True
    return False


@pytest.fixture
def widgets() -> Widgets:
    return Widgets()


@pytest.fixture
def shop(api: Api) -> Shop:
    return Shop(api)


async def test_what_is_declared_becomes_so_and_the_status_says_it(api: Api, shop: Shop, widgets: Widgets) -> None:
    async with managed(api.client, widgets, Manager(api.client, namespace=api.namespace)):
        await shop.declare()
        obj = await shop.ends_with({"Ready": ("True", "Written")})
        note = await shop.says("hello")
    assert (obj["status"]["text"], obj["status"]["observedGeneration"]) == ("hello", 1)
    assert obj["metadata"]["finalizers"] == [FINALIZER]
    assert note["metadata"]["ownerReferences"][0]["uid"] == obj["metadata"]["uid"]
    assert widgets.writer.acts == [("a", Write("hello"))]


async def test_changes_and_drift_are_followed(api: Api, shop: Shop, widgets: Widgets) -> None:
    async with managed(api.client, widgets, Manager(api.client, namespace=api.namespace)):
        await shop.declare()
        await shop.ends_with({"Ready": ("True", "Written")})
        await shop.change(text="bye")
        await shop.says("bye")
        await shop.tamper()
        await shop.says("bye")


async def test_a_deleted_object_is_cleaned_up_after_and_then_goes(api: Api, shop: Shop, widgets: Widgets) -> None:
    async with managed(api.client, widgets, Manager(api.client, namespace=api.namespace)):
        await shop.declare()
        await shop.ends_with({"Ready": ("True", "Written")})
        await shop.delete()
        await shop.is_gone()
    assert widgets.writer.acts[-1] == ("a", Remove())


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("wait", {"Ready": ("Unknown", "ImageMissing"), "Reconciling": ("True", "ImageMissing")}),
        ("stall", {"Ready": ("False", "BadText"), "Stalled": ("True", "BadText")}),
        ("fail", {"Ready": ("False", "ZeroDivisionError")}),
        ("run", {"Ready": ("True", "Ran")}),
    ],
    ids=["wait", "stalled", "a mistake of ours", "done once"],
)
async def test_the_conditions_say_how_a_reconciliation_ended(
    api: Api, shop: Shop, widgets: Widgets, mode: str, expected: dict[str, tuple[str, str]]
) -> None:
    async with managed(api.client, widgets, Manager(api.client, namespace=api.namespace)):
        await shop.declare(mode)
        await shop.ends_with(expected)


async def test_of_two_replicas_one_works_and_the_other_takes_over(api: Api, shop: Shop) -> None:
    def manager() -> Manager:
        terms = Terms(lease_s=2, renew_s=1.2, retry_s=0.2)
        return Manager(api.client, namespace=api.namespace, leases=api.namespace, terms=terms)

    first, second = Widgets(), Widgets()
    async with AsyncExitStack() as replicas:
        async with managed(api.client, first, manager()):
            await shop.declare()
            await shop.ends_with({"Ready": ("True", "Written")})
            await replicas.enter_async_context(managed(api.client, second, manager()))
        assert second.writer.acts == []
        await shop.change(text="bye")
        await shop.says("bye")
        assert second.writer.acts == [("a", Write("bye"))]
