"""Changes of selected objects: what would happen first, then what happened to each, and only to those selected."""

from __future__ import annotations

import pytest

from homeostat.client import base
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import CONFIG_MAP, DEPLOYMENT, Kind
from homeostat.operators.contracts.api import PACTO
from homeostat.operators.images.api import REQUESTED
from homeostat.operators.sync.api.policy import SYNC_POLICY
from homeostat.plane import Plane
from homeostat.runtime.control.failure_conditions import PAUSE
from homeostat.web.dashboard.objects.bulk.selection import MOST_FIELDS, MOST_SELECTED
from tests.holds import measured_turns
from tests.server.admission.hooks import BINDINGS, POLICIES, binding, policy
from tests.web.contracts.dashboard.test_graph import declare_services
from tests.web.dashboard.declaring import HOSTILE, declare
from tests.web.dashboard.site import Page, Site, note
from tests.web.images.dashboard.test_images import declare_all as declare_images
from tests.web.sync.dashboard.test_policies import declare_all as declare_syncs

MAPS = "/objects/core/configmaps"


def _selected(page: Page, *names: str) -> dict[str, str]:
    """What the form of a list sends with these boxes checked, all without names."""
    boxes = [each.attributes for each in page.document.all("input", form="bulk")]
    chosen = {each["name"]: each["value"] for each in boxes}
    wanted = {f"object:default/{each}" for each in names} if names else set(chosen)
    proof = page.document.all("input", name="proof")[0].attributes["value"]
    return {"proof": proof, "from": "default", **{name: uid for name, uid in chosen.items() if name in wanted}}


def _confirmed(page: Page) -> dict[str, str]:
    """What the button of the preview sends."""
    return {each.attributes["name"]: each.attributes["value"] for each in page.document.all("input", type="hidden")}


def _rows(page: Page) -> list[str]:
    return [each.text for each in page.document.all("tr") if each.attributes.get("id", "").startswith("row-selected-")]


async def _maps(plane: Plane, *names: str) -> None:
    for name in names:
        await declare(plane.client, CONFIG_MAP, name, data={"a": "1"})


async def _labels(plane: Plane, name: str) -> JsonObject:
    found: JsonObject = (await plane.client.get(CONFIG_MAP.path("default", name)))["metadata"].get("labels", {})
    return found


async def test_what_would_happen_is_shown_first_and_happens_to_the_selected_objects_alone(
    plane: Plane, site: Site
) -> None:
    await _maps(plane, "one", "two", "three", "replaced")
    listed = await site.open(f"{MAPS}?namespace=default")
    form = {**_selected(listed, "one", "two", "replaced"), "operation": "label", "label": "tier=front"}
    await plane.client.delete(CONFIG_MAP.path("default", "replaced"))
    await _maps(plane, "replaced")

    preview = await site.send(f"{MAPS}/bulk", form)
    assert preview.document.one("h1").text == "Set label tier=front: 3 objects?"
    first, *others = _rows(preview)
    assert first.startswith("replaceddefaultwould failAnother object has this name now")
    assert others == ["onedefaultwould be labelled", "twodefaultwould be labelled"]
    command = "homeostat label configmaps one two tier=front -n default --overwrite"
    assert command in [each.text for each in preview.document.all("code", class_="command")]
    assert await _labels(plane, "one") == {}

    done = await site.send(f"{MAPS}/bulk", _confirmed(preview))
    assert _rows(done) == ["onedefaultlabelled", "twodefaultlabelled"]
    assert "2 objects labelled, 0 failed." in done.document.one("p", role="status").text
    assert [await _labels(plane, each) for each in ("one", "two", "three", "replaced")] == [
        *[{"tier": "front"}] * 2,
        *[{}] * 2,
    ]
    removed = await site.send(f"{MAPS}/bulk", {**form, "label": "tier-", "step": "apply"})
    assert "Another object has this name now" in _rows(removed)[0]
    assert await _labels(plane, "one") == {}

    form = {**_selected(listed, "one", "three", "replaced"), "operation": "delete"}
    preview = await site.send(f"{MAPS}/bulk", form)
    assert [each.partition("default")[0] for each in _rows(preview)] == ["replaced", "one", "three"]
    assert preview.document.one("button", class_="danger").text == "Delete: 2 objects"
    assert len(await _names(plane)) == 4
    done = await site.send(f"{MAPS}/bulk", {**form, "step": "apply"})
    assert "2 objects deleted, 1 failed." in done.document.one("p", role="status").text
    assert await _names(plane) == ["replaced", "two"]


async def _names(plane: Plane) -> list[str]:
    found, _ = await plane.client.list(CONFIG_MAP.path("default"))
    return [each["metadata"]["name"] for each in found if each.get("data") == {"a": "1"}]


async def test_a_policy_that_refuses_one_object_does_not_keep_the_others(plane: Plane, site: Site) -> None:
    await _maps(plane, "free", "held")
    listed = await site.open(f"{MAPS}?namespace=default")
    refusal = {"expression": "object.metadata.name != 'held'", "message": HOSTILE}
    await plane.client.create(POLICIES, policy(refusal))
    await plane.client.create(BINDINGS, binding())
    form = {**_selected(listed, "free", "held"), "operation": "label", "label": "a=b"}
    preview = await site.send(f"{MAPS}/bulk", form)
    assert "<script>document" not in preview.source
    assert "document.title" in _rows(preview)[0]
    done = await site.send(f"{MAPS}/bulk", {**form, "step": "apply"})
    assert [each.partition("default")[2][:8] for each in _rows(done)] == ["failedco", "labelled"]
    assert [await _labels(plane, each) for each in ("free", "held")] == [{"a": "b"}, {}]


async def test_a_form_that_cannot_be_carried_out_says_why(plane: Plane, site: Site) -> None:
    await _maps(plane, "one")
    form = {**_selected(await site.open(f"{MAPS}?namespace=default"), "one"), "operation": "delete", "step": "apply"}
    many = {f"object:default/x{each}": "u" for each in range(MOST_SELECTED)}
    nameless = {"object:default/one": "", "object:default/": "x", "object:": "x"}
    refusals: dict[str, dict[str, str]] = {
        "write it as tier=front": {"operation": "label", "label": "not a label"},
        "'reconcile' is not possible for a ConfigMap; expected label, delete.": {"operation": "reconcile"},
        "Nothing is selected.": nameless,
        f"{MOST_SELECTED + 1} objects are selected; at most {MOST_SELECTED} are changed at once.": many,
    }
    for problem, changes in refusals.items():
        refused = await site.send(f"{MAPS}/bulk", {**form, **changes})
        assert (refused.status, problem in refused.document.one("p", role="alert").text) == (422, True), refused.text
    assert await _names(plane) == ["one"]


async def test_only_this_form_may_have_many_fields(plane: Plane, site: Site) -> None:
    await _maps(plane, "one")
    form = {**_selected(await site.open(f"{MAPS}?namespace=default"), "one"), "operation": "delete"}
    many = {f"field-{each}": "" for each in range(100)}
    assert (await site.send(f"{MAPS}/bulk", {**form, **many})).status == 200
    too_many = {f"field-{each}": "" for each in range(MOST_FIELDS)}
    for path, sent in ((f"{MAPS}/bulk", too_many), ("/login", many), (f"{MAPS}/default/one/delete", many)):
        assert (await site.send(path, {**form, **sent})).status == 400, path
    assert (await site.send(f"{MAPS}/bulk", {**form, "proof": "guessed"})).status == 403


async def test_two_hundred_objects_are_changed_in_short_turns(plane: Plane, site: Site) -> None:
    await _maps(plane, *(f"item-{each:03}" for each in range(MOST_SELECTED)))
    form = _selected(await site.open(f"{MAPS}?namespace=default&labels=!x&limit=200&q=item-"))
    async with measured_turns() as turns:
        await site.send(f"{MAPS}/bulk", {**form, "operation": "label", "label": "a=b"})
        done = await site.send(f"{MAPS}/bulk", {**form, "operation": "delete", "step": "apply"})
    assert "200 objects deleted, 0 failed." in done.document.one("p", role="status").text
    assert turns.longest_s < 0.03, "in one turn, the preview alone takes 45 ms"
    assert await _names(plane) == []


async def test_the_answers_for_large_objects_are_not_decoded(
    plane: Plane, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _maps(plane, "one", "two")
    form = {**_selected(await site.open(f"{MAPS}?namespace=default"), "one", "two"), "operation": "label"}
    decoded: list[str] = []
    decode = base._decoded

    def noted(data: bytes, path: str) -> JsonObject:
        decoded.append(path)
        return decode(data, path)

    monkeypatch.setattr(base, "_decoded", noted)
    done = await site.send(f"{MAPS}/bulk", {**form, "label": "a=b", "step": "apply"})
    assert "2 objects labelled, 0 failed." in done.document.one("p", role="status").text
    assert [each for each in decoded if "/configmaps/" in each] == []


async def test_objects_of_every_operator_that_reconciles_on_request_are_offered(plane: Plane, site: Site) -> None:
    await declare_syncs(plane)
    await declare_images(plane)
    await declare_services(plane)
    await site.declare("/resources", note("a"))
    for kind, annotation in ((SYNC_POLICY.kind, "reconcile"), (PACTO.kind, "reconcile"), (DEPLOYMENT, REQUESTED)):
        here = f"/objects/{kind.group}/{kind.plural}"
        form = {**_selected(await site.open(f"{here}?namespace=default")), "operation": "reconcile"}
        preview = await site.send(f"{here}/bulk", form)
        assert annotation in preview.document.all("code", class_="command")[0].text, kind
        done = await site.send(f"{here}/bulk", _confirmed(preview))
        assert " requested, 0 failed." in done.document.one("p", role="status").text, kind
    assert _rows(preview)[0].startswith("untrackeddefaultwould failNo operator reconciles it")
    web, untracked = [await plane.client.get(DEPLOYMENT.path("default", each)) for each in ("web", "untracked")]
    assert REQUESTED in web["metadata"]["annotations"]
    assert REQUESTED not in untracked["metadata"].get("annotations", {})
    for kind in (SYNC_POLICY.kind, PACTO.kind):
        await _is_paused_and_resumed(plane, site, kind)
    for page, kind in (("/sync", SYNC_POLICY.kind), ("/contracts", PACTO.kind), ("/images", DEPLOYMENT)):
        place = f"/dashboard/objects/{kind.group}/{kind.plural}"
        note_of = (await site.open(page)).document.all("p", class_="note")[-1]
        assert note_of.text == f"To change several at once, select them among the objects: {kind.kind}", page
        assert (await site.open(page)).document.all("a", href=place) != []
    notes = await site.shows("/objects/resources.homeostat.dev/notes", "Reconcile now")
    assert [each.text for each in notes.document.all("option") if each.attributes["value"] == "reconcile"]


async def _is_paused_and_resumed(plane: Plane, site: Site, kind: Kind) -> None:
    here = f"/objects/{kind.group}/{kind.plural}"
    form = _selected(await site.open(f"{here}?namespace=default"))
    for operation, values in (("pause", {"true"}), ("resume", {None})):
        preview = await site.send(f"{here}/bulk", {**form, "operation": operation})
        assert PAUSE in preview.document.all("code", class_="command")[0].text
        done = await site.send(f"{here}/bulk", _confirmed(preview))
        assert f"{operation}d, 0 failed." in done.document.one("p", role="status").text
        found, _ = await plane.client.list(kind.path("default"))
        assert {each["metadata"].get("annotations", {}).get(PAUSE) for each in found} == values


async def test_selected_workloads_are_restarted_by_a_new_template(plane: Plane, site: Site) -> None:
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": pod}
    await declare(plane.client, DEPLOYMENT, "web", spec=spec)
    here = "/objects/apps/deployments"
    form = {**_selected(await site.open(f"{here}?namespace=default")), "operation": "restart"}
    preview = await site.send(f"{here}/bulk", form)
    assert "kubectl rollout restart deployments.apps web -n default" in [
        each.text for each in preview.document.all("code", class_="command")
    ]
    done = await site.send(f"{here}/bulk", _confirmed(preview))
    assert "1 object restarted, 0 failed." in done.document.one("p", role="status").text
    template = (await plane.client.get(DEPLOYMENT.path("default", "web")))["spec"]["template"]
    assert list(template["metadata"]["annotations"]) == ["kubectl.kubernetes.io/restartedAt"]
    maps = await site.send(f"{MAPS}/bulk", {**form, "operation": "pause"})
    assert "expected label, delete." in maps.document.one("p", role="alert").text
