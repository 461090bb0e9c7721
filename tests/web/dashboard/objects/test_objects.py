"""The objects of every kind over a real plane: lists, one object, changes; secrets stay hidden, texts stay texts."""

from __future__ import annotations

import json
from urllib.parse import quote, urlencode

import pytest

from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from tests.web.dashboard.objects.seed import CONFIG_MAPS, DEPLOYMENTS, SECRETS, seed, seed_lamps
from tests.web.dashboard.site import Document, Page, Site

WEB = "/objects/apps/deployments/shop/web"


def rows(page: Page) -> list[str]:
    return [each.text for each in page.document.all("th", scope="row")]


def proof_of(page: Page) -> str:
    return page.document.all("input", name="proof")[0].attributes["value"]


def next_path(page: Page) -> str:
    return page.document.one("a", rel="next").attributes["href"].removeprefix("/dashboard")


async def test_a_list_has_the_servers_columns_and_pages(plane: Plane, site: Site) -> None:
    await plane.client.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    for number in range(120):
        labels = {"shard": str(number % 3)}
        data = {f"k{each}": "" for each in range(number % 5)}
        body = {"metadata": {"name": f"item-{number:03}", "labels": labels}, "data": data}
        await plane.client.create(CONFIG_MAPS, body)
    here = "/objects/core/configmaps"
    index = await site.open("/objects")
    counted = int(index.document.one("li", id="kind-configmap").text.removeprefix("ConfigMapcm").replace(",", ""))
    assert counted >= 120
    assert (await site.open("/objects?q=pods")).document.all("li", id="kind-configmap") == []

    first = await site.open(f"{here}?namespace=shop")
    assert [each.text for each in first.document.all("th", scope="col")] == ["Name", "Data", "Age"]
    names = rows(first)
    page = first
    while len(rows(page)) == 50:
        page = await site.open(next_path(page))
        names += rows(page)
    own = [each for each in names if each.startswith("item-")]
    assert own == [f"item-{number:03}" for number in range(120)]
    assert len(rows(await site.open(f"{here}?namespace=shop&limit=200"))) == len(names)

    assert rows(await site.open(f"{here}?q=ITEM-11")) == [f"item-11{each}" for each in range(10)]
    assert len(rows(await site.open(f"{here}?labels=shard%3D1"))) == 40
    assert rows(await site.open(f"{here}?fields=metadata.name%3Ditem-007")) == ["item-007"]
    by_data = rows(await site.open(f"{here}?labels=shard&sort=-Data"))
    assert by_data[0] == "item-004"
    assert "1–50 of 120 objects" in (await site.open(f"{here}?labels=shard&sort=-Data")).text
    assert len(rows(await site.open(f"{here}?labels=shard&sort=Data&start=100"))) == 20

    for query in ("labels=a%3D%3D%3Db", "fields=spec.nope%3D1", "after=nonsense"):
        page = await site.open(f"{here}?{query}")
        assert (page.status, bool(page.document.one("p", role="alert").text)) == (200, True), query
    assert (await site.open(f"{here}?limit=7")).status == 422
    assert (await site.open("/objects/core/nothings")).status == 404
    assert "homeostat apply -f FILE" in (await site.open("/objects/batch/jobs")).text


async def test_an_object_is_shown_without_secrets_and_all_texts_are_texts(plane: Plane, site: Site) -> None:
    await seed(plane.client)
    await seed_lamps(plane.client)
    lamps = await site.shows("/objects/light.example/lamps", "porch")
    assert rows(lamps) == ["attic", "hall", "porch"]
    assert rows(await site.open("/objects/light.example/lamps?sort=Watts")) == ["porch", "hall", "attic"]
    web = await site.open(WEB)
    secret = await site.open("/objects/core/secrets/shop/db")
    paths = [
        "",
        "/objects",
        "/objects/light.example/lamps/shop/hall",
        "/objects/light.example/lamps/shop/hall/edit",
        "/objects/light.example/lamps/shop/hall/delete",
        "/objects/core/configmaps/shop/owned",
        "/objects/core/secrets",
        "/objects/core/secrets/shop/db/edit",
        "/objects/core/events",
        f"{WEB}/edit",
        f"{WEB}/delete",
        "/objects?q=%3Cscript%3E",
        "/objects/core/pods?q=%22%3E%3Cscript%3E&labels=%3Cb%3E&namespace=%3Cb%3E&sort=%3Cb%3E",
        "/objects/%3Cb%3E/%3Cscript%3E",
        "/objects/core/pods/shop/%3Cscript%3E",
    ]
    for page in (web, secret, lamps, *[await site.open(each) for each in paths]):
        assert "hunter2" not in page.source
        assert "aHVudGVyMg" not in page.source
        assert_harmless(page.document)
    assert "password: '(hidden, 7 bytes)'" in secret.text
    assert "value: '(hidden, 7 characters)'" in web.text
    assert "document.title" in web.text
    assert "Scaled x3" in web.text
    tree = web.document.one("ul", class_="tree").text
    assert tree == "Deployment webConfigMap owned"
    owned = await site.open("/objects/core/configmaps/shop/owned")
    assert owned.document.one("ul", class_="tree").text == "Deployment webConfigMap owned"
    drawn = owned.document.one("a", href="/dashboard" + WEB, class_="node")
    assert drawn.attributes["aria-label"] == "Deployment web: not observed"
    assert owned.document.one("g", class_="focus").attributes["aria-label"] == "ConfigMap owned, this object"
    assert "Managed fields" in web.document.one("details", id="managed").text
    hall = await site.open("/objects/light.example/lamps/shop/hall")
    assert hall.document.one("tr", id="row-condition-Ready").text.startswith("ReadyFalseDark")
    for command in ("homeostat edit deployments.apps web -n shop", "homeostat delete deployments.apps web -n shop"):
        assert command in web.text


def assert_harmless(document: Document) -> None:
    assert {each.attributes.get("src", "")[:18] for each in document.all("script")} == {"/dashboard/static/"}
    assert document.all("img") == []
    for each in document.elements:
        assert not any(name.startswith("on") or name == "style" for name in each.attributes), each
        assert not each.attributes.get("href", "").startswith("javascript"), each


@pytest.mark.parametrize(
    ("back", "target"),
    [
        ("/dashboard/sync/shop/topics", "/dashboard/sync/shop/topics"),
        ("https://elsewhere.example/dashboard/", f"/dashboard{WEB}"),
        ("//elsewhere.example/dashboard/", f"/dashboard{WEB}"),
        ("/dashboard/a\r\nSet-Cookie: a", f"/dashboard{WEB}"),
    ],
)
async def test_a_change_leads_back_to_the_page_of_the_dashboard_that_it_began_on(
    plane: Plane, site: Site, back: str, target: str
) -> None:
    await seed(plane.client)
    path = f"{WEB}/edit?{urlencode({'back': back})}"
    form = await site.open(path)
    basis = form.document.one("input", name="basis").attributes["value"]
    text = form.document.one("textarea").text.lstrip("\n").replace("replicas: 2", "replicas: 5")
    sent = {"proof": proof_of(form), "basis": basis, "text": text}
    preview = await site.send(path, {**sent, "step": "preview"})
    (action,) = {
        each.attributes["action"] for each in preview.document.all("form") if "edit" in each.attributes["action"]
    }
    assert target in [each.attributes.get("href") for each in preview.document.all("a", class_="clear")]
    done = await site.send(action.removeprefix("/dashboard"), {**sent, "step": "apply"})
    assert (done.status, done.headers["Location"]) == (303, target)


async def test_a_change_is_shown_before_it_is_made(plane: Plane, site: Site) -> None:
    await seed(plane.client)
    form = await site.open(f"{WEB}/edit")
    text = form.document.one("textarea").text.lstrip("\n")
    basis = form.document.one("input", name="basis").attributes["value"]
    sent = {"proof": proof_of(form), "basis": basis, "step": "preview"}

    async def try_text(text: str, **more: str) -> Page:
        return await site.send(f"{WEB}/edit", {**sent, "text": text, **more})

    preview = await try_text(text.replace("replicas: 2", "replicas: 5"))
    assert [each.text.strip() for each in preview.document.all("ins")] == ["+  replicas: 5"]
    assert [each.text.strip() for each in preview.document.all("del")] == ["-  replicas: 2"]
    assert (await plane.client.get(f"{DEPLOYMENTS}/web"))["spec"]["replicas"] == 2
    kept = preview.document.one("input", name="text").attributes["value"]
    for wrong, reason in (
        (text, "nothing was changed"),
        (text.replace("kind: Deployment", "kind: Job"), "kind must stay Deployment"),
        (text.replace("name: web\n", "name: other\n", 1), "metadata.name must stay web"),
        (text.replace("replicas: 2", "replicas: many"), "spec.replicas"),
        (text.replace("image: web:1", "image: web:2"), "contains a hidden value"),
        ("a: [", "YAML"),
        ("- 1", "expected one object"),
    ):
        page = await try_text(wrong)
        assert reason in page.document.one("p", role="alert").text, wrong
        assert page.document.one("textarea").text.lstrip("\n") == wrong
    several = text.replace("replicas: 2", f"replicas: -{'1' * 9}").replace("maxSurge: 25%", f"maxSurge: {'x' * 300}")
    refused = await try_text(several.replace("maxUnavailable: 25%", "maxUnavailable: lots"))
    causes = [each.text.partition(":")[0] for each in refused.document.all("span", class_="cause")]
    assert causes == [
        "spec.replicas",
        "spec.strategy.rollingUpdate.maxUnavailable",
        "spec.strategy.rollingUpdate.maxSurge",
    ]
    assert (await site.send(f"{WEB}/edit", {**sent, "text": kept, "step": "apply", "proof": "x"})).status == 403
    await plane.client.merge(f"{DEPLOYMENTS}/web/status", {"status": {"observedGeneration": 1, "replicas": 2}})
    done = await try_text(kept, step="apply")
    assert (done.status, done.headers["Location"]) == (303, f"/dashboard{WEB}"), "a written status refuses no edit"
    assert (await plane.client.get(f"{DEPLOYMENTS}/web"))["spec"]["replicas"] == 5
    assert "was changed meanwhile" in (await try_text(kept.replace("5", "7"), step="apply")).text
    text = "Applied. The operator has not reconciled generation 2 yet. What it reports is older: of generation 1."
    assert (await site.open(WEB)).document.one("p", class_="unobserved").text == text
    await plane.client.merge(f"{DEPLOYMENTS}/web/status", {"status": {"observedGeneration": 2}})
    assert "has not reconciled" not in (await site.open(WEB)).text

    form = await site.open("/objects/core/secrets/shop/db/edit")
    text = form.document.one("textarea").text.lstrip("\n").replace("user: '(hidden, 3 bytes)'", "user: bWU=")
    sent["basis"] = form.document.one("input", name="basis").attributes["value"]
    await site.send("/objects/core/secrets/shop/db/edit", {**sent, "text": text, "step": "apply"})
    assert (await plane.client.get(f"{SECRETS}/db"))["data"] == {"password": "aHVudGVyMg==", "user": "bWU="}


@pytest.mark.parametrize("change", [{"metadata": {"labels": {"team": "b"}}}, {"spec": {"paused": True}}])
async def test_a_change_of_somebody_else_refuses_an_edit(plane: Plane, site: Site, change: JsonObject) -> None:
    await seed(plane.client)
    form = await site.open(f"{WEB}/edit")
    text = form.document.one("textarea").text.lstrip("\n").replace("replicas: 2", "replicas: 5")
    basis = form.document.one("input", name="basis").attributes["value"]
    await plane.client.merge(f"{DEPLOYMENTS}/web", change)
    sent = {"proof": proof_of(form), "basis": basis, "step": "apply", "text": text}
    assert "was changed meanwhile" in (await site.send(f"{WEB}/edit", sent)).text
    assert (await plane.client.get(f"{DEPLOYMENTS}/web"))["spec"]["replicas"] == 2


async def test_an_object_is_deleted_after_a_question(plane: Plane, site: Site) -> None:
    await seed(plane.client)
    question = await site.open(f"{WEB}/delete")
    assert "ConfigMap owned" in question.text
    sent = {"proof": proof_of(question), "uid": question.document.one("input", name="uid").attributes["value"]}
    assert (await site.send(f"{WEB}/delete", {**sent, "propagation": "Never"})).status == 422
    assert (await site.send(f"{WEB}/delete", {**sent, "uid": "another"})).status == 409
    done = await site.send(f"{WEB}/delete", {**sent, "propagation": "Background"})
    assert (done.status, done.headers["Location"]) == (303, "/dashboard/objects/apps/deployments?namespace=shop")

    async def is_gone() -> bool:
        try:
            await plane.client.get(f"{DEPLOYMENTS}/web")
        except NotFoundError:
            return True
        return False

    await eventually(is_gone, bool)
    assert (await site.open(WEB)).status == 404


async def test_the_palette_finds_pages_kinds_and_objects(plane: Plane, site: Site) -> None:
    await seed(plane.client)

    async def found(words: str) -> list[str]:
        page = await site.open(f"/find?q={quote(words)}")
        return [each["path"].removeprefix("/dashboard") for each in json.loads(page.source)["found"]]

    assert "/resources" in await found("")
    assert (await found("deploy"))[0] == "/objects/apps/deployments"
    paths = await found("web")
    assert paths[0] == WEB, "before kinds that have the word in theirs"
    assert "/events/" in paths[-1], "Events come last"
    await plane.client.create("/api/v1/namespaces/shop/configmaps", {"metadata": {"name": "settings"}})
    paths = await found("set")
    assert paths[0] == "/objects/core/configmaps/shop/settings", "before kinds that only contain the word"
    assert "/objects/apps/replicasets" in paths
    assert await found("cm owned") == ["/objects/core/configmaps/shop/owned"]
    assert await found("nothing-like-this") == []
    assert (await site.open(f"/find?q={'x' * 300}")).status == 422
