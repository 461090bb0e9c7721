"""Resource types on a real plane become kinds of their own, change safely and go when nobody uses them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from homeostat.client.base import Client
from homeostat.objects.decision import Decision, Stalled, Wait
from homeostat.objects.declared import Metadata
from homeostat.objects.errors import InvalidError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import KINDS, RESOURCE_TYPE, ResourceType, ResourceTypeSpec
from homeostat.operators.actions.types.compatibility import IncompatibleResource
from homeostat.operators.actions.types.decide import Migrate, PutDefinition, RemoveDefinition, TypeWorld, decide_type
from homeostat.operators.actions.types.definition import definition_of
from homeostat.operators.actions.types.operator import TypeOperator
from homeostat.plane import Settings, open_plane
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.runtime.setup import Setup
from homeostat.testing.eventually import eventually
from homeostat.testing.status import check_status, condition_of

SCHEMA = {"required": ["size"], "properties": {"size": {"type": "integer"}}}
THINGS = "/apis/resources.homeostat.dev/v1/namespaces/default/things"


def register(setup: Setup) -> None:
    types = setup.watch(RESOURCE_TYPE.kind, ResourceType)
    operator = TypeOperator(setup.client, lambda: types.cache)
    setup.control(RESOURCE_TYPE.kind, ResourceType, operator, Options(finalizer="homeostat.dev/definition"))


@pytest.fixture
async def client(data: Path) -> AsyncIterator[Client]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset({"housekeeping"}))) as plane:
        await install(plane.client, KINDS)
        manager = Manager(plane.client)
        manager.add("types", register)
        async with manager.running():
            yield plane.client


async def declare(client: Client, name: str = "thing", **spec: Any) -> None:
    given = {"name": "Thing", "schema": SCHEMA, **spec}
    body = {"apiVersion": "homeostat.dev/v1alpha1", "kind": "ResourceType", "metadata": {"name": name}, "spec": given}
    await client.create(RESOURCE_TYPE.kind.path(""), body)


async def told(client: Client, status: str, name: str = "thing") -> JsonObject:
    path = RESOURCE_TYPE.kind.path("", name)
    obj: JsonObject = await eventually(
        lambda: client.get(path), lambda obj: condition_of(obj, "Ready").get("status") == status
    )
    check_status(obj)
    return obj


async def make(client: Client, name: str, **spec: Any) -> None:
    kind = {"apiVersion": "resources.homeostat.dev/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec}
    await client.create(THINGS, kind)


async def test_a_type_is_a_kind_of_its_own(client: Client) -> None:
    await declare(client)
    obj = await told(client, "True")
    assert obj["status"]["plural"] == "things"
    await make(client, "one", size=1)
    with pytest.raises(InvalidError, match=r"spec\.size"):
        await make(client, "two", size="large")


async def test_a_schema_that_live_resources_do_not_match_is_not_applied(client: Client) -> None:
    await declare(client)
    await told(client, "True")
    await make(client, "one", size=1)
    narrower = {"required": ["size"], "properties": {"size": {"type": "integer", "minimum": 5}}}
    path = RESOURCE_TYPE.kind.path("", "thing")
    await client.merge(path, {"spec": {"schema": narrower}})
    obj = await told(client, "False")
    assert obj["status"]["incompatibleResources"][0].startswith("default/one: spec.size")
    await make(client, "two", size=2)

    await client.merge(path, {"spec": {"isForced": True}})
    await told(client, "True")
    with pytest.raises(InvalidError):
        await make(client, "three", size=3)


async def test_a_type_in_use_stays_and_goes_with_its_last_resource(client: Client) -> None:
    await declare(client)
    await told(client, "True")
    await make(client, "one", size=1)
    path = RESOURCE_TYPE.kind.path("", "thing")
    await client.delete(path)
    obj = await eventually(
        lambda: client.get(path), lambda obj: condition_of(obj, "Reconciling").get("reason") == "InUse"
    )
    assert "default/one" in condition_of(obj, "Reconciling")["message"]
    await client.delete(f"{THINGS}/one")
    await client.merge(path, {"metadata": {"labels": {"look": "again"}}})

    async def is_gone() -> bool:
        try:
            await client.get(path)
        except NotFoundError:
            return True
        return False

    await eventually(is_gone)
    with pytest.raises(NotFoundError):
        await client.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.resources.homeostat.dev")


async def test_a_type_in_use_that_became_wrong_takes_no_resources_with_it(client: Client) -> None:
    await declare(client)
    await told(client, "True")
    await make(client, "one", size=1)
    path = RESOURCE_TYPE.kind.path("", "thing")
    await client.merge(path, {"spec": {"schema": {"type": "nope", "properties": None, "required": None}}})
    await eventually(lambda: client.get(path), lambda obj: condition_of(obj, "Stalled").get("status") == "True")
    await client.delete(path)
    await eventually(lambda: client.get(path), lambda obj: condition_of(obj, "Reconciling").get("reason") == "InUse")
    assert "deletionTimestamp" not in (await client.get(f"{THINGS}/one"))["metadata"]


def typed(name: str, created: str = "2026-01-01T00:00:00Z", *, going: bool = False, **spec: Any) -> ResourceType:
    metadata = Metadata(name, creation_timestamp=created, deletion_timestamp="2026-01-02T00:00:00Z" if going else None)
    return ResourceType(metadata=metadata, spec=ResourceTypeSpec(**{"name": "Thing", **spec}))


def removing(name: str) -> ResourceType:
    """It was said that its definition goes."""
    status = {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "Removing", "message": ""}]}
    return msgspec.structs.replace(typed(name, going=True), status=msgspec.Raw(msgspec.json.encode(status)))


def established(*specs: ResourceTypeSpec) -> JsonObject:
    definition = definition_of(specs)
    return {**definition, "status": {"conditions": [{"type": "Established", "status": "True"}]}}


def going(definition: JsonObject) -> JsonObject:
    return {**definition, "metadata": {**definition["metadata"], "deletionTimestamp": "2026-01-02T00:00:00Z"}}


ONE, TWO = typed("one"), typed("two", version="v2")


def stored(*versions: str) -> JsonObject:
    """Both versions, the second stored now, and these once."""
    found = established(ONE.spec, TWO.spec)
    return {**found, "status": {**found["status"], "storedVersions": list(versions)}}


def storing_first() -> JsonObject:
    """Both versions, the first stored."""
    two, one = definition_of([ONE.spec, TWO.spec])["spec"]["versions"]
    wanted = definition_of([ONE.spec])
    return {**wanted, "spec": {**wanted["spec"], "versions": [{**one, "storage": True}, {**two, "storage": False}]}}


@pytest.mark.parametrize(
    ("given", "world", "expected"),
    [
        pytest.param(ONE, TypeWorld(), (PutDefinition(definition_of([ONE.spec])),), id="new"),
        pytest.param(ONE, TypeWorld(found=established(ONE.spec)), (), id="in-force"),
        pytest.param(
            ONE,
            TypeWorld(others=(TWO,), found=established(ONE.spec)),
            (PutDefinition(definition_of([ONE.spec, TWO.spec])),),
            id="another-version",
        ),
        pytest.param(
            ONE,
            TypeWorld(others=(typed("bad", version="v2", schema={"type": "nope"}),), found=established(ONE.spec)),
            (),
            id="another-version-that-is-wrong",
        ),
        pytest.param(
            ONE,
            TypeWorld(
                others=(typed("bad", version="v2", schema={"type": "nope"}),), found=established(ONE.spec, TWO.spec)
            ),
            (),
            id="another-version-that-became-wrong",
        ),
        pytest.param(
            ONE,
            TypeWorld(others=(typed("two", going=True, version="v2"),), found=stored("v1", "v2")),
            (),
            id="another-version-that-goes-and-is-stored",
        ),
        pytest.param(
            ONE,
            TypeWorld(others=(typed("two", going=True, version="v2"),), found=stored("v1")),
            (PutDefinition(definition_of([ONE.spec])),),
            id="another-version-that-goes-and-is-not-stored",
        ),
        pytest.param(
            typed("one", going=True),
            TypeWorld(others=(TWO,), found=stored("v1", "v2")),
            (Migrate(stored("v1", "v2")),),
            id="a-stored-version-goes",
        ),
        pytest.param(
            typed("two", going=True, version="v2"),
            TypeWorld(others=(ONE,), found=stored("v1", "v2")),
            (PutDefinition(storing_first()),),
            id="the-version-that-is-stored-goes",
        ),
        pytest.param(typed("one", going=True), TypeWorld(), (), id="gone"),
        pytest.param(
            removing("one"),
            TypeWorld(found=established(ONE.spec)),
            (RemoveDefinition("things.resources.homeostat.dev"),),
            id="last-version-goes",
        ),
        pytest.param(
            typed("one", going=True),
            TypeWorld(others=(TWO,), found=established(ONE.spec, TWO.spec), users=("default/x",)),
            (PutDefinition(definition_of([TWO.spec])),),
            id="one-version-goes",
        ),
        pytest.param(
            typed("younger", "2026-02-01T00:00:00Z", going=True),
            TypeWorld(others=(ONE,), found=established(ONE.spec), users=("default/x",)),
            (),
            id="a-duplicate-goes",
        ),
        pytest.param(
            typed("one", going=True),
            TypeWorld(others=(typed("younger", "2026-02-01T00:00:00Z"), TWO), found=stored("v1", "v2")),
            (),
            id="a-duplicate-takes-over",
        ),
    ],
)
def test_what_is_done_to_the_definition(given: ResourceType, world: TypeWorld, expected: tuple[Any, ...]) -> None:
    assert decide_type(given, world).actions == expected


@pytest.mark.parametrize(
    ("given", "world", "error", "message"),
    [
        pytest.param(
            typed("younger", "2026-02-01T00:00:00Z"),
            TypeWorld(others=(ONE,)),
            Stalled,
            '"one" has the same',
            id="twice",
        ),
        pytest.param(typed("one", schema={"type": "nope"}), TypeWorld(), Stalled, "spec.schema.type", id="wrong"),
        pytest.param(
            typed("one", going=True),
            TypeWorld(found=established(ONE.spec), users=tuple(f"default/{at}" for at in range(9))),
            Wait,
            "9 resources have this type: .* and 4 more",
            id="in-use",
        ),
        pytest.param(
            typed("one", going=True),
            TypeWorld(
                others=(TWO,), found=stored("v1", "v2"), incompatible=(IncompatibleResource("default", "x", ()),)
            ),
            Wait,
            "1 live resource does not match the schema: default/x",
            id="unfit-for-what-stays",
        ),
        pytest.param(
            typed("one", going=True),
            TypeWorld(others=(TWO,), found=stored("v1", "v2"), is_settled=False),
            Wait,
            "Migrating resources",
            id="not-all-replicas-know-yet",
        ),
        pytest.param(
            typed("one", going=True),
            TypeWorld(found=established(ONE.spec)),
            Wait,
            "Deleting the definition",
            id="those-who-follow-its-resources-stop-first",
        ),
        pytest.param(
            removing("one"),
            TypeWorld(found=going(established(ONE.spec))),
            Wait,
            "Deleting the definition",
            id="what-goes-already-is-not-removed-again",
        ),
        pytest.param(
            removing("one"),
            TypeWorld(found=established(ONE.spec), users=("default/x",)),
            Wait,
            "1 resource has this type",
            id="somebody-made-one-meanwhile",
        ),
    ],
)
def test_the_status_says_why_a_type_is_not_ready(
    given: ResourceType, world: TypeWorld, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        decide_type(given, world)


@pytest.mark.parametrize(
    ("given", "found", "reason"),
    [(ONE, None, "Defining"), (TWO, established(ONE.spec), "Defining"), (ONE, established(ONE.spec), "Redefining")],
    ids=["new", "a-new-version", "a-version-that-is-there"],
)
def test_only_what_the_server_does_not_have_is_being_defined(
    given: ResourceType, found: JsonObject | None, reason: str
) -> None:
    others = tuple(each for each in (ONE, TWO) if each is not given)
    decision: Decision[Any] = decide_type(given, TypeWorld(others=others, found=found))
    assert decision.conditions[0].reason == reason


def test_the_status_says_why_the_server_refuses_a_definition() -> None:
    refused = {"type": "NamesAccepted", "status": "False", "reason": "PluralConflict", "message": "taken"}
    found = {**definition_of([ONE.spec]), "status": {"conditions": [refused]}}
    decision: Decision[Any] = decide_type(ONE, TypeWorld(found=found))
    assert (decision.conditions[0].reason, decision.conditions[0].message) == ("PluralConflict", "taken")


def test_a_definition_that_is_being_installed_is_waited_for() -> None:
    conditions = [
        {"type": "NamesAccepted", "status": "True", "reason": "NoConflicts"},
        {"type": "Established", "status": "False", "reason": "Installing", "message": "names have been accepted"},
    ]
    found = {**definition_of([ONE.spec]), "status": {"conditions": conditions}}
    decision: Decision[Any] = decide_type(ONE, TypeWorld(found=found))
    assert (decision.conditions[0].status, decision.requeue_after) == ("Unknown", timedelta(seconds=1))


def test_a_forced_schema_is_applied() -> None:
    forced = typed("one", is_forced=True, schema=SCHEMA)
    world = TypeWorld(found=established(ONE.spec), incompatible=(IncompatibleResource("default", "x", ()),))
    assert len(decide_type(forced, world).actions) == 1
    assert decide_type(typed("one", schema=SCHEMA), world).actions == ()
