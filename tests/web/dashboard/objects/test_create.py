"""Objects are created from a manifest: a template with the required fields, a dry run, then the object."""

from __future__ import annotations

import pytest

from homeostat.objects import yaml
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.kind import Kind
from homeostat.plane import Plane
from homeostat.web.dashboard.objects.forms.template import template
from tests.web.dashboard.objects.seed import DEPLOYMENTS, HOSTILE, SECRETS, seed_lamps
from tests.web.dashboard.site import Page, Site

CREATE = "/objects/create"
LAMP = Kind("light.example", "v1", "lamps", "Lamp", is_namespaced=True)
TEXT = "apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: shop}\nstringData: {password: hunter2}\n"


def text_of(page: Page) -> str:
    return page.document.one("textarea").text.lstrip("\n")


def proof_of(page: Page) -> str:
    return page.document.all("input", name="proof")[0].attributes["value"]


async def test_an_object_is_created_after_a_dry_run(plane: Plane, site: Site) -> None:
    await plane.client.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    listed = await site.open("/objects/apps/deployments?namespace=shop")
    link = listed.document.one("a", class_="button").attributes["href"].removeprefix("/dashboard")
    form = await site.open(link)
    assert "homeostat apply -f FILE -n shop" in form.text
    start: JsonObject = yaml.load(text_of(form).encode())
    assert (start["kind"], start["metadata"]) == ("Deployment", {"name": "", "namespace": "shop"})
    assert start["spec"]["template"]["spec"]["containers"][0]["name"] == ""

    async def send(text: str, step: str = "preview", path: str = link) -> Page:
        return await site.send(path, {"proof": proof_of(form), "text": text, "step": step})

    labels = {"app": "web"}
    start["metadata"] = {"name": "web"}
    start["spec"]["selector"] = {"matchLabels": labels}
    container = {"name": "web", "image": "web:1"}
    start["spec"]["template"] = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    text = encode(start).decode()
    preview = await send(text)
    added = [each.text for each in preview.document.all("ins")]
    assert "+  namespace: shop" in added
    assert preview.document.all("del") == [], "nothing was there before"
    assert "+  replicas: 1" in added, "a default of the server"
    assert not any("uid" in each or "creationTimestamp" in each for each in added)
    with pytest.raises(NotFoundError):
        await plane.client.get(f"{DEPLOYMENTS}/web")
    assert text_of(await send(text, "edit")) == text
    assert (await site.send(link, {"proof": "x", "text": text, "step": "apply"})).status == 403
    done = await send(preview.document.one("input", name="text").attributes["value"], "apply")
    assert (done.status, done.headers["Location"]) == (303, "/dashboard/objects/apps/deployments/shop/web")
    made = await plane.client.get(f"{DEPLOYMENTS}/web")
    assert {each["manager"] for each in made["metadata"]["managedFields"]} == {"homeostat-dashboard"}

    for wrong, reason in (
        (text, "already exists"),
        (text.replace('"name":"web"', '"name":""', 1), "name"),
        (text.replace("Deployment", "Nothing"), "the server has no kind Nothing in apps/v1"),
        (text.replace('"replicas"', '"replica"').replace('"spec":{', '"spec":{"replica":2,', 1), "unknown field"),
        ("a: [", "YAML"),
        (f"{TEXT}---\n{TEXT}", "document"),
        (TEXT.replace("shop", "none"), 'namespaces "none" not found'),
        (HOSTILE, "expected one object"),
    ):
        page = await send(wrong)
        assert reason in page.document.one("p", role="alert").text, wrong
        assert text_of(page) == wrong

    preview = await send(TEXT, path=CREATE)
    assert "hunter2" not in preview.text
    assert (await send(TEXT, "apply", CREATE)).status == 303
    assert (await plane.client.get(f"{SECRETS}/key"))["data"] == {"password": "aHVudGVyMg=="}


async def test_a_template_has_the_required_fields_of_its_schema(plane: Plane, site: Site) -> None:
    await plane.client.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    await seed_lamps(plane.client)
    lamp = await site.shows(f"{CREATE}?group=light.example&plural=lamps", "kind: Lamp")
    assert yaml.load(text_of(lamp).encode())["metadata"] == {"name": "", "namespace": "default"}
    bulb = {
        "required": ["watts", "socket", "colour", "tags", "places", "size", "self"],
        "properties": {
            "watts": {"type": "integer", "minimum": 5},
            "socket": {"enum": ["E27", "E14"], "type": "string"},
            "colour": {"allOf": [{"$ref": "#/components/schemas/colour"}], "default": "warm"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "places": {"type": "array", "items": {"type": "object", "required": ["x"], "properties": {"x": {}}}},
            "size": {"x-kubernetes-int-or-string": True},
            "self": {"$ref": "#/components/schemas/loop"},
            "optional": {"type": "string"},
        },
    }
    schemas = {
        "lamp": {
            "x-kubernetes-group-version-kind": [{"group": "light.example", "version": "v1", "kind": "Lamp"}],
            "properties": {"spec": bulb, "status": {"type": "object"}},
        },
        "colour": {"type": "string"},
        "loop": {"required": ["self"], "properties": {"self": {"$ref": "#/components/schemas/loop"}}},
    }
    found = template(encode({"components": {"schemas": schemas}}), LAMP, "shop")
    loop = found["spec"].pop("self")
    assert found["spec"] == {
        "watts": 5,
        "socket": "E27",
        "colour": "warm",
        "tags": [],
        "places": [{"x": {}}],
        "size": "",
    }
    assert len(str(loop)) < 200, "a type within itself ends"
    assert "status" not in found
