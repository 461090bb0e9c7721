"""What an operator may ask for before anything runs."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.client.base import Client
from homeostat.objects.decision import Decision
from homeostat.objects.declared import Declared
from homeostat.objects.kind import CONFIG_MAP, NAMESPACE, Kind
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.control.writes import RefusedWriteError, writing_in
from homeostat.runtime.manager import Manager
from homeostat.runtime.setup import Setup
from homeostat.testing.clock import virtual_time
from tests.runtime.projections import Pod
from tests.runtime.wire import Sent, Wire, thing

GADGET = Kind("shop.example", "v1", "gadgets", "Gadget", is_namespaced=True)


class Idle:
    async def observe(self, obj: Declared) -> None:
        return None

    def decide(self, obj: Declared, world: None) -> Decision[None]:
        return Decision()

    async def act(self, obj: Declared, action: None) -> None:
        raise AssertionError("nothing was decided")


@virtual_time
async def test_operators_that_want_the_same_share_a_watch() -> None:
    wire = Wire({"/api/v1/configmaps": []})
    manager = Manager(Client(wire))
    found: dict[str, Informer[Pod]] = {}

    def register(setup: Setup) -> None:
        found[setup.name] = setup.watch(CONFIG_MAP, Pod)
        setup.watch(CONFIG_MAP, Pod)
        assert setup.informers == [found[setup.name]]

    manager.add("one", register)
    manager.add("two", register)
    assert found["one"] is found["two"]
    async with manager.running():
        await asyncio.sleep(10)
        assert wire.sent.count(Sent("GET", "/api/v1/configmaps")) == 1


@virtual_time
async def test_a_watch_ends_with_the_last_who_wants_it_and_a_controllers_figures_with_it() -> None:
    wire = Wire({GADGET.path(""): []})
    manager = Manager(Client(wire))
    other = manager.add("other", lambda setup: None)
    setup = manager.add("gadgets", lambda setup: None)
    async with manager.running():
        await asyncio.sleep(1)
        first, second = (setup.control(GADGET, Declared, Idle(), name=name) for name in ("first", "second"))
        mine, others = setup.watch(GADGET, Declared), other.watch(GADGET, Declared)
        await asyncio.sleep(1)
        await setup.release(first)
        text = manager.metrics.text().decode()
        assert "gadgets-second" in text
        assert "gadgets-first" not in text
        await setup.release(second)
        assert setup.informers == [mine]
        wire.feed(GADGET.path(""), "ADDED", thing("late", 20))
        await asyncio.sleep(1)
        assert [each.metadata.name for each in others.cache] == ["late"]
        assert mine._handlers == ()
        assert "gadgets-second" not in manager.metrics.text().decode()


@pytest.mark.parametrize(
    ("kind", "namespace", "path"),
    [
        (CONFIG_MAP, "", "/api/v1/configmaps"),
        (CONFIG_MAP, "shop", "/api/v1/namespaces/shop/configmaps"),
        (NAMESPACE, "", "/api/v1/namespaces"),
        (NAMESPACE, "shop", "/api/v1/namespaces"),
    ],
)
@virtual_time
async def test_an_operator_of_one_namespace_watches_nothing_else(kind: Kind, namespace: str, path: str) -> None:
    manager = Manager(Client(Wire()), namespace=namespace)
    setup = manager.add("one", lambda setup: None)
    assert setup.watch(kind, Pod).source.path == path


@virtual_time
async def test_selectors_and_projections_make_watches_of_their_own() -> None:
    setup = Manager(Client(Wire())).add("one", lambda setup: None)
    plain = setup.watch(CONFIG_MAP, Pod)
    assert setup.watch(CONFIG_MAP, Pod, labels="app=web") is not plain
    assert setup.watch(CONFIG_MAP, Pod, fields="metadata.name=a") is not plain
    assert setup.watch(CONFIG_MAP, Pod, is_metadata_only=True) is not plain
    setup.watch(CONFIG_MAP, Declared)
    assert len(setup.informers) == 5


@virtual_time
async def test_names_are_given_once() -> None:
    manager = Manager(Client(Wire()))
    setup = manager.add("one", lambda setup: None)
    with pytest.raises(ValueError, match='operator "one" is already registered'):
        manager.add("one", lambda setup: None)
    assert setup.control(GADGET, Declared, Idle()).name == "one"
    assert setup.control(GADGET, Declared, Idle(), name="more").name == "one-more"
    for name, told in {"": '"one"', "more": '"one-more"'}.items():
        with pytest.raises(ValueError, match=f"has a controller {told} already"):
            setup.control(GADGET, Declared, Idle(), name=name)


@virtual_time
async def test_an_operator_that_cannot_be_registered_is_not_there() -> None:
    def register(setup: Setup) -> None:
        raise LookupError("no such setting")

    manager = Manager(Client(Wire()))
    with pytest.raises(LookupError):
        manager.add("one", register)
    manager.add("one", lambda setup: None)


@virtual_time
async def test_who_does_not_lead_may_not_write_in_a_scope() -> None:
    wire = Wire()
    manager = Manager(Client(wire), leases="default")
    setup = manager.add("one", lambda setup: None)
    with writing_in(setup.scope()), pytest.raises(RefusedWriteError, match="this process is not the leader"):
        await setup.client.create("/api/v1/namespaces/shop/configmaps", {})
    assert wire.sent == []
