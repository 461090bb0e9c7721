from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from homeostat.client.base import Client
from homeostat.objects.crd.custom_kind import Status
from homeostat.objects.decision import Decision, Receipt
from homeostat.objects.json import JsonObject
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.control.status_fields import UnknownStatusFieldError, status_fields_of
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane
from homeostat.testing.status import check_status, condition_of
from tests.runtime.widgets import KINDS, WIDGETS, Action, Widget, Widgets, Writer, path, widget


class ClubStatus(Status, frozen=True, rename="camel"):
    member_count: int = 0
    chair: str = ""


CLUBS = msgspec.structs.replace(WIDGETS, status=ClubStatus)


@pytest.mark.parametrize("fields", [{}, {"memberCount": 3}, {"memberCount": None, "chair": "ann"}])
def test_fields_that_the_kind_has_pass(fields: JsonObject) -> None:
    known = status_fields_of(CLUBS)
    assert known is not None
    known.check(fields)


@pytest.mark.parametrize(
    ("field", "hint"),
    [
        ("member_count", 'did you mean "memberCount"[?]'),
        ("xyz", "it has chair, conditions, memberCount, observedGeneration"),
    ],
)
def test_one_that_it_does_not_have_is_named_with_the_nearest(field: str, hint: str) -> None:
    known = status_fields_of(CLUBS)
    assert known is not None
    with pytest.raises(UnknownStatusFieldError, match=f'Widget has no field "{field}", .*; {hint}'):
        known.check({"chair": "ann", field: 3})


def test_a_kind_without_a_status_has_no_fields_to_check() -> None:
    assert status_fields_of(msgspec.structs.replace(WIDGETS, status=None)) is None


class SloppyWriter(Writer):
    """Knows neither what its status is called, nor its run."""

    def decide(self, obj: Widget, world: str | None) -> Decision[Action]:
        decision = super().decide(obj, world)
        return msgspec.structs.replace(decision, status={"Text": "hello"}) if decision.status else decision

    async def act(self, obj: Widget, action: Action) -> Receipt | None:
        receipt = await super().act(obj, action)
        return receipt and Receipt({"runs": 1, **receipt.status})


class Sloppy(Widgets):
    writer_type = SloppyWriter

    def __init__(self) -> None:
        super().__init__(Options())


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with open_test_plane(tmp_path, Sloppy()) as plane:
        yield plane.client


async def failed(client: Client, name: str) -> JsonObject:
    obj = await eventually(
        lambda: client.get(path(name)), lambda obj: condition_of(obj, "Ready").get("reason") == "UnknownStatusField"
    )
    check_status(obj)
    return obj


async def test_a_decision_with_an_unknown_field_fails_the_reconciliation(client: Client) -> None:
    await client.create(path(), widget("a"))
    ready = condition_of(await failed(client, "a"), "Ready")
    assert 'has no field "Text", and the server would drop it; did you mean "text"?' in ready["message"]


async def test_a_receipt_with_an_unknown_field_fails_the_reconciliation_and_keeps_what_is_known(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    await client.create(path(), widget("a", mode="run"))
    await eventually(lambda: client.get(path("a")), lambda obj: condition_of(obj, "Ready").get("status") == "True")
    assert (await client.get(path("a")))["status"]["run"] == "run-1"
    assert ['has no field "runs"' in str(getattr(each, "reason", "")) for each in caplog.records] == [True]


async def test_a_dry_run_reports_an_unknown_field(client: Client) -> None:
    await client.create(path(), widget("a"))
    await failed(client, "a")
    manager = Manager(client)
    manager.add("sloppy", Sloppy().register, KINDS)
    (plan,) = await manager.plan()
    assert plan.trouble.startswith("UnknownStatusField: ")
