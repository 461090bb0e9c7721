"""Plans and runs through the recorded REST server: what is applied, what is deleted, and what is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from homeostat.operators.sync.engine.errors import ConflictError, ValidationError
from homeostat.operators.sync.engine.plan.changes import FileChange, plan_changes
from homeostat.operators.sync.run.options import SyncOptions
from homeostat.operators.sync.run.plan import check_same
from homeostat.operators.sync.run.record import Event, Owned, Record, decode_record, encode_record
from tests.operators.sync.cases import Rest
from tests.operators.sync.run.syncing import Files, Policy, actions, became, objects, writes

_TWO_IDENTITIES = b"resource: {id: /id, alias: /name}\n"


def policy(rest: Rest, state: dict[str, Any] | None = None, **options: Any) -> Policy:
    rest.call("PUT", "/_/state", {"collections": {"/t": {}}, **(state or {})})
    return Policy(rest.url, SyncOptions(**{"prune": True, **options}))


def files(**values: Any) -> dict[str, Any]:
    return {f"t/{name}/resource.json": {"id": name, **value} for name, value in values.items()}


async def test_a_second_sync_of_equal_objects_writes_nothing(rest: Rest) -> None:
    policy_ = policy(rest)
    report = await policy_.sync(files(a={"v": 1}, b={}))
    assert became(report) == {"/t/a": "created", "/t/b": "created"}
    assert (report.targeted, report.applied, report.pruned) == (2, 2, 0)
    writes(rest)
    assert became(await policy_.sync(files(a={"v": 1}, b={}))) == {"/t/a": "unchanged", "/t/b": "unchanged"}
    assert writes(rest) == []


async def test_only_what_we_created_is_pruned_and_an_emptied_source_prunes_too(rest: Rest) -> None:
    theirs = {"/t/x": {"id": "x"}, "/t/a": {"id": "a"}}
    policy_ = policy(rest, {"objects": theirs})
    await policy_.sync(files(a={"v": 1}, b={}))
    assert became(await policy_.sync({})) == {"/t/b": "deleted"}
    assert objects(rest).keys() == theirs.keys()
    assert became(await policy_.sync({})) == {}


async def test_adopted_objects_are_pruned(rest: Rest) -> None:
    policy_ = policy(rest, {"objects": {"/t/x": {"id": "x"}, "/t/a": {"id": "a"}}}, adopt="declared")
    await policy_.sync(files(a={}))
    assert became(await policy_.sync({})) == {"/t/a": "deleted"}
    assert objects(rest).keys() == {"/t/x"}


async def test_without_prune_objects_are_kept_and_reported(rest: Rest) -> None:
    policy_ = policy(rest, prune=False)
    await policy_.sync(files(a={}))
    assert became(await policy_.sync({})) == {"/t/a": "undeclared"}
    assert objects(rest).keys() == {"/t/a"}


async def test_a_field_that_a_file_no_longer_declares_is_a_change_once(rest: Rest) -> None:
    policy_ = policy(rest, {"collections": {"/t": {"add": {"server": 1}}}})
    await policy_.sync(files(a={"v": 1, "w": 2}))
    plan = await policy_.plan(files(a={"v": 1}))
    assert [(each.pointer, each.operation) for each in plan.steps[0].differences] == [("/w", "drop")]
    assert became(await policy_.sync(files(a={"v": 1}))) == {"/t/a": "updated"}
    assert objects(rest)["/t/a"] == {"id": "a", "v": 1, "server": 1}
    assert became(await policy_.sync(files(a={"v": 1}))) == {"/t/a": "unchanged"}


async def test_a_patch_names_the_fields_that_are_no_longer_declared(rest: Rest) -> None:
    policy_ = policy(rest)
    metadata = {"t/_/metadata.yaml": b"operations: {update: {method: PATCH}}\n"}
    await policy_.sync({**metadata, **files(a={"v": 1, "w": {"x": 1, "y": 2}})})
    await policy_.sync({**metadata, **files(a={"v": 2, "w": {"x": 1}})})
    assert objects(rest)["/t/a"] == {"id": "a", "v": 2, "w": {"x": 1}}
    assert became(await policy_.sync({**metadata, **files(a={"v": 2, "w": {"x": 1}})})) == {"/t/a": "unchanged"}


async def test_a_failure_that_repeats_is_one_event(rest: Rest) -> None:
    policy_ = policy(rest)
    for _ in range(3):
        await policy_.sync({"t/a/resource.json": b"{"})
    assert [each.action for each in policy_.record.events("/t/a")] == ["failed"]


async def test_another_format_of_a_file_deletes_nothing(rest: Rest) -> None:
    policy_ = policy(rest)
    await policy_.sync(files(a={"v": 1}))
    assert became(await policy_.sync({"t/a/resource.yaml": b"id: a\nv: 1\n"})) == {"/t/a": "unchanged"}


async def test_nested_objects_are_created_from_above_and_deleted_from_below(rest: Rest) -> None:
    policy_ = policy(rest, {"collections": {"/t": {}, "/t/*/u": {"parent": True}}})
    nested = {"t/a/u/x/resource.json": {"id": "x"}, **files(a={})}
    assert set(became(await policy_.sync(nested)).values()) == {"created"}
    assert writes(rest) == [("POST", "/t"), ("POST", "/t/a/u")]
    await policy_.sync({})
    assert writes(rest) == [("DELETE", "/t/a/u/x"), ("DELETE", "/t/a")]


async def test_what_a_payload_refers_to_is_created_before_it(rest: Rest) -> None:
    policy_ = policy(rest, {"collections": {"/t": {}, "/t/a/roles": {}, "/t/b/zones": {}}})
    refers: Files = {
        "t/a/roles/admin/resource.json": {"id": "admin", "zoneId": "eu", "under": "/t/c"},
        "t/b/zones/eu/resource.json": {"id": "eu"},
        **files(c={"role": "nobody"}, d={"t": "c"}),
    }
    await policy_.sync(refers)
    order = [each["body"]["id"] for each in rest.call("GET", "/_/requests") if each["method"] == "POST"]
    assert order.index("admin") > max(order.index("eu"), order.index("c"))


async def test_references_in_a_circle_are_applied_all_the_same(rest: Rest) -> None:
    circle = files(a={"t": "b"}, b={"t": "a"}, c={"t": "a"})
    assert set(became(await policy(rest).sync(circle)).values()) == {"created"}


async def test_a_renamed_file_updates_the_object_that_the_server_addresses_by_id(rest: Rest) -> None:
    policy_ = policy(rest, {"collections": {"/t": {"assign": True, "add": {"id": ""}}}})
    rest.call("PUT", "/_/state", {"collections": {"/t": {"assign": True}}})
    metadata = {"t/_/metadata.yaml": _TWO_IDENTITIES}
    await policy_.sync({**metadata, "t/a/resource.json": {"name": "a", "v": 1}})
    writes(rest)
    renamed = {**metadata, "t/b/resource.json": {"name": "b", "v": 1}}
    (step,) = (await policy_.plan(renamed)).steps
    assert (step.action, step.renamed_from, step.id) == ("update", "/t/a", "1001")
    await policy_.sync(renamed)
    assert writes(rest) == [("PUT", "/t/1001")]
    assert policy_.record.objects.keys() == {"/t/b"}
    assert policy_.record.objects["/t/b"].is_ours


async def test_a_renamed_object_that_is_addressed_by_name_is_created_before_it_is_deleted(rest: Rest) -> None:
    policy_ = policy(rest)
    await policy_.sync(files(a={"v": 1}))
    writes(rest)
    await policy_.sync(files(b={"v": 1}))
    assert writes(rest) == [("POST", "/t"), ("DELETE", "/t/a")]
    rest.call("PUT", "/_/faults", [{"method": "POST", "path": "/t", "status": 500}])
    report = await policy_.sync(files(c={"v": 1}))
    assert became(report) == {"/t/c": "failed", "/t/b": "held"}
    assert "/t/b" in objects(rest)


async def test_a_file_moved_within_its_collection_keeps_its_object(rest: Rest) -> None:
    """The new directory declares the same id."""
    policy_ = policy(rest)
    await policy_.sync(files(a={"v": 1}))
    moved = {"t/elsewhere/resource.json": {"id": "a", "v": 1}}
    assert became(await policy_.sync(moved)) == {"/t/elsewhere": "unchanged"}
    assert policy_.record.owned.keys() == {"/t/elsewhere"}
    assert became(await policy_.sync({})) == {"/t/elsewhere": "deleted"}


async def test_too_many_deletions_are_held_as_a_whole(rest: Rest) -> None:
    many = files(**{f"n{number}": {} for number in range(10)})
    policy_ = policy(rest)
    await policy_.sync(many)
    plan = await policy_.plan({})
    (held,) = {each.held for each in plan.steps}
    assert held.startswith("10 deletions are planned, 100 % of 10 owned objects; at most 25 % are allowed at once")
    assert set(became(await policy_.sync({})).values()) == {"held"}
    policy_.options = replace(policy_.options, max_deletions=9, max_deletion_percent=100)
    assert set(became(await policy_.sync({})).values()) == {"held"}
    policy_.options = replace(policy_.options, max_deletions=10)
    assert set(became(await policy_.sync({})).values()) == {"deleted"}


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"protect": ("/t/a",)}, {"/t/a", "/t/a/u/x"}),
        ({"protect": ("/*/a/u",)}, {"/t/a", "/t/a/u/x"}),
        ({"verbs": ("create", "update")}, {"/t/a", "/t/a/u/x", "/t/b"}),
        ({"mode": "observe"}, {"/t/a", "/t/a/u/x", "/t/b"}),
        ({"deny_windows": "daily 00:00-23:00"}, {"/t/a", "/t/a/u/x", "/t/b"}),
    ],
    ids=["path", "glob", "verbs", "observe", "window"],
)
async def test_what_is_protected_or_not_allowed_stays(rest: Rest, options: dict[str, Any], kept: set[str]) -> None:
    policy_ = policy(rest, {"collections": {"/t": {}, "/t/*/u": {}}})
    await policy_.sync({"t/a/u/x/resource.json": {"id": "x"}, **files(a={}, b={})})
    policy_.options = replace(policy_.options, **options)
    report = await policy_.sync({})
    assert set(objects(rest)) == kept
    assert {each.became for each in report.results} <= {"held", "deleted"}


async def test_an_object_with_declared_ones_below_it_is_not_deleted(rest: Rest) -> None:
    """Servers delete what is below an object together with it."""
    policy_ = policy(rest, {"collections": {"/t": {}, "/t/*/u": {}}})
    below = {"t/a/u/x/resource.json": {"id": "x"}}
    await policy_.sync({**below, **files(a={}, b={})})
    assert became(await policy_.sync(below)) == {"/t/a/u/x": "unchanged", "/t/a": "held", "/t/b": "deleted"}


async def test_metadata_protects_objects(rest: Rest) -> None:
    policy_ = policy(rest)
    await policy_.sync(files(a={}))
    (result,) = (await policy_.sync({"t/_/metadata.yaml": b"resource: {protected: true}\n"})).results
    assert (result.became, result.message) == ("held", "it is protected")


async def test_an_object_that_others_created_again_is_not_ours(rest: Rest) -> None:
    policy_ = policy(rest, {"collections": {"/t": {"assign": True}}})
    metadata = {"t/_/metadata.yaml": _TWO_IDENTITIES}
    await policy_.sync({**metadata, **{f"t/{each}/resource.json": {"name": each} for each in "ab"}})
    rest.call("DELETE", "/_/objects/t/1001")
    rest.call("PUT", "/_/objects/t/77", {"id": "77", "name": "a"})
    assert became(await policy_.sync(metadata)) == {"/t/a": "held", "/t/b": "deleted"}
    assert objects(rest).keys() == {"/t/77"}


async def test_an_object_whose_metadata_is_gone_is_not_deleted_elsewhere(rest: Rest) -> None:
    policy_ = policy(rest, {"collections": {"/t": {}, "/real": {}}, "objects": {"/t/a": {"id": "a"}}})
    metadata = {"t/_/metadata.yaml": b"resource: {remoteCollectionPath: /real}\n"}
    await policy_.sync({**metadata, **files(a={})})
    report = await policy_.sync({})
    assert became(report) == {"/t/a": "held"}
    assert "restore the metadata" in report.results[0].message
    assert objects(rest).keys() == {"/t/a", "/real/a"}
    assert became(await policy_.sync(metadata)) == {"/t/a": "deleted"}
    assert objects(rest).keys() == {"/t/a"}


async def test_one_failure_stops_no_other_but_those_that_need_it(rest: Rest) -> None:
    fault = {"method": "POST", "path": "/t", "status": 500}
    policy_ = policy(rest, {"collections": {"/t": {}, "/t/*/u": {}, "/w": {}}, "faults": [fault]})
    policy_.source = "/"
    report = await policy_.sync(
        {"t/a/resource.json": {"id": "a"}, "t/a/u/x/resource.json": {"id": "x"}, "w/b/resource.json": {"id": "b"}}
    )
    assert became(report) == {"/t/a": "failed", "/t/a/u/x": "held", "/w/b": "created"}
    assert report.failed[0].message.startswith("/t/a: POST /t: HTTP 500")
    assert report.failed[0].kind == "Transport"


async def test_two_files_for_one_object_are_both_refused(rest: Rest) -> None:
    policy_ = policy(rest, {"objects": {"/t/a": {"id": "a", "v": 0}}})
    twice = {"t/one/resource.json": {"id": "a", "v": 1}, "t/two/resource.json": {"id": "a", "v": 2}}
    report = await policy_.sync({**twice, **files(b={})})
    assert became(report) == {"/t/one": "failed", "/t/two": "failed", "/t/b": "created"}
    assert "declare the same object" in report.failed[0].message
    assert objects(rest)["/t/a"] == {"id": "a", "v": 0}


async def test_a_run_that_was_killed_half_way_still_owns_what_it_created(rest: Rest) -> None:
    policy_ = policy(rest)
    await policy_.sync(files(a={}, b={}))
    (before,) = policy_.saved
    assert before.creating == {"/t/a", "/t/b"}
    policy_.record = before
    assert set(became(await policy_.sync(files(a={}, b={}))).values()) == {"unchanged"}
    assert policy_.record.owned.keys() == {"/t/a", "/t/b"}
    assert policy_.record.creating == frozenset()


async def test_a_server_that_asks_to_wait_is_left_in_peace_until_then(rest: Rest) -> None:
    """429 is about all requests; the time survives a restart."""
    fault = {"method": "POST", "path": "/t", "status": 429, "headers": {"Retry-After": "600"}}
    policy_ = policy(rest, {"collections": {"/t": {}, "/t/*/u": {}}, "faults": [fault]})
    declared = {"t/a/u/x/resource.json": {"id": "x"}, **files(a={})}
    report = await policy_.sync(declared)
    assert report.retry_at == policy_.now.timestamp() + 600
    writes(rest)
    assert set(became(await policy_.sync(declared)).values()) == {"held"}
    assert writes(rest) == []
    policy_.now += timedelta(seconds=601)
    assert set(became(await policy_.sync(declared)).values()) == {"created"}
    assert policy_.record.not_before == {}


async def test_an_object_that_is_unavailable_waits_alone(rest: Rest) -> None:
    fault = {"method": "PUT", "path": "/t/a", "status": 503, "headers": {"Retry-After": "600"}}
    policy_ = policy(rest, {"objects": {"/t/a": {"id": "a"}, "/t/b": {"id": "b"}}, "faults": [fault]})
    assert became(await policy_.sync(files(a={"v": 1}, b={"v": 1}))) == {"/t/a": "failed", "/t/b": "updated"}
    report = await policy_.sync(files(a={"v": 1}, b={"v": 2}))
    assert became(report) == {"/t/a": "held", "/t/b": "updated"}


async def test_windows_hold_changes_until_they_open(rest: Rest) -> None:
    policy_ = policy(rest, allow_windows="daily 22:00-06:00 Europe/Berlin")
    plan = await policy_.plan(files(a={}))
    assert plan.held == "the windows allow no changes until 2026-03-04T21:00:00Z"
    assert became(await policy_.sync(files(a={}))) == {"/t/a": "held"}
    policy_.now = datetime(2026, 3, 4, 21, 0, tzinfo=UTC)
    assert became(await policy_.sync(files(a={}))) == {"/t/a": "created"}
    policy_.options = replace(policy_.options, allow_windows="2025-01-01..2025-01-02")
    assert (await policy_.plan(files(a={"v": 1}))).held == "no future window allows changes; set allowWindows"
    policy_.options = replace(policy_.options, deny_windows="nonsense")
    with pytest.raises(ValidationError, match="invalid window"):
        await policy_.plan(files(a={}))


async def test_a_run_ends_in_time_and_the_next_one_continues(rest: Rest) -> None:
    policy_ = policy(rest, {"collections": {"/t": {}, "/t/*/u": {}}}, timeout_seconds=60)
    policy_.tick = timedelta(seconds=25)
    declared = {"t/a/u/x/resource.json": {"id": "x"}, "t/a/u/y/resource.json": {"id": "y"}, **files(a={})}
    assert "held" in became(await policy_.sync(declared)).values()
    policy_.tick = timedelta()
    await policy_.sync(declared)
    assert set(became(await policy_.sync(declared)).values()) == {"unchanged"}


async def test_an_observing_policy_reports_drift_and_who_caused_it(rest: Rest) -> None:
    state = {"objects": {"/t/a": {"id": "a", "v": 1, "meta": {"by": "eve"}}, "/t/b": {"id": "b"}}}
    policy_ = policy(rest, state, mode="observe")
    metadata = {"t/_/metadata.yaml": b"resource: {changedBy: /meta/by}\n"}
    plan = await policy_.plan({**metadata, **files(a={"v": 2}, b={})})
    assert [(each.path, each.changed_by) for each in plan.drifted] == [("/t/a", "eve")]
    assert [(each.local, each.remote) for each in plan.drifted[0].differences] == [(2, 1)]
    (held, _) = (await policy_.sync({**metadata, **files(a={"v": 2}, b={})})).results
    assert (held.became, held.message, held.changed_by) == ("held", "mode is observe", "eve")
    assert writes(rest) == []


async def test_the_record_has_the_history_of_a_resource_and_forgets_the_oldest(rest: Rest) -> None:
    policy_ = policy(rest, history=3)
    for version in range(3):
        await policy_.sync(files(a={"v": version}, b={}))
    assert [(each.action, each.fields) for each in policy_.record.events("/t/a")] == [
        ("updated", ("/v",)),
        ("updated", ("/v",)),
    ]
    assert len(policy_.record.history) == 3


async def test_a_commit_of_one_file_reads_and_writes_one_object(rest: Rest) -> None:
    policy_ = policy(rest)
    declared = files(**{f"n{number}": {} for number in range(20)})
    await policy_.sync(declared)
    rest.call("DELETE", "/_/requests")
    declared["t/n7/resource.json"] = {"id": "n7", "v": 1}
    del declared["t/n8/resource.json"]
    changes = [FileChange("t/n7/resource.json"), FileChange("t/n8/resource.json", is_removed=True)]
    scope = plan_changes("/t", changes, lambda path: f"{path[1:]}/resource.json" in declared)
    assert became(await policy_.sync(declared, scope)) == {"/t/n7": "updated", "/t/n8": "deleted"}
    log = [(each["method"], each["path"]) for each in rest.call("GET", "/_/requests")]
    assert sorted(log) == [("DELETE", "/t/n8"), ("GET", "/t/n7"), ("GET", "/t/n8"), ("PUT", "/t/n7")]


async def test_a_plan_is_refused_when_the_world_moved(rest: Rest) -> None:
    policy_ = policy(rest, {"objects": {"/t/a": {"id": "a", "v": 1}}})
    declared = files(a={"v": 2}, b={})
    plan = await policy_.plan(declared)
    assert actions(plan) == {"/t/a": "update", "/t/b": "create"}
    again = await policy_.plan(declared)
    check_same(plan, again)
    with pytest.raises(ConflictError, match="/t/a"):
        check_same(plan, await policy_.plan(files(a={"v": 3}, b={})))
    rest.call("PUT", "/_/objects/t/a", {"id": "a", "v": 5})
    with pytest.raises(ConflictError, match="/t/a"):
        check_same(plan, await policy_.plan(declared))


async def test_an_update_is_refused_when_the_object_changed_since_it_was_read(rest: Rest) -> None:
    policy_ = policy(rest, {"etag": True, "objects": {"/t/a": {"id": "a", "v": 1}}})
    rest.call("PUT", "/_/faults", [{"method": "PUT", "path": "/t/a", "status": 412}])
    (result,) = (await policy_.sync(files(a={"v": 2}))).results
    assert (result.became, result.kind) == ("failed", "Conflict")
    sent = [each for each in rest.call("GET", "/_/requests") if each["method"] == "PUT"]
    assert "If-Match" in sent[0]["headers"]


async def test_the_health_check_follows_changes(rest: Rest) -> None:
    policy_ = policy(rest, {"objects": {"/health": {"ok": True}}})
    policy_.health = "/health"
    assert (await policy_.sync(files(a={}))).health == ""
    rest.call("PUT", "/_/faults", [{"method": "GET", "path": "/health", "status": 500}])
    report = await policy_.sync(files(a={"v": 1}))
    assert "HTTP 500" in report.health
    assert not report.is_complete


def test_a_record_that_is_unreadable_says_what_to_do() -> None:
    whole = encode_record(Record())
    for data in (b"", b"{}", whole[:-3], b"x" * 100):
        with pytest.raises(ValidationError, match="record of the sync"):
            decode_record(data)
    assert decode_record(whole) == Record()


def test_two_runs_that_save_one_record_keep_the_entries_of_both() -> None:
    first = Event("0", "/a", "created")
    base = Record(objects={"/a": Owned("a"), "/b": Owned("b")}, creating=frozenset({"/x"}), history=(first,))
    ours = base.updated(objects={"/a": None, "/c": Owned("c")}, creating=set(), events=[Event("1", "/c", "created")])
    theirs = base.updated(objects={"/d": Owned("d")}, creating={"/x", "/y"}, events=[Event("1", "/d", "created")])
    merged = ours.carried_over(base, theirs)
    assert merged.objects.keys() == {"/b", "/c", "/d"}
    assert merged.creating == {"/y"}
    assert [each.path for each in merged.history] == ["/a", "/d", "/c"]
    assert ours.carried_over(base, base) == ours
