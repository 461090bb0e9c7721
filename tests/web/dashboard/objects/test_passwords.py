"""Fields of custom kinds that their schema marks with `format: password`: hidden on every page, kept by an edit."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.plane import Plane
from tests.web.dashboard.objects.test_objects import proof_of
from tests.web.dashboard.site import Site

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PASSWORD: JsonObject = {"type": "string", "format": "password"}
DOOR: JsonObject = {"type": "object", "properties": {"knock": PASSWORD}}
SPEC: JsonObject = {"motto": PASSWORD, "doors": {"type": "array", "items": DOOR}, "size": {"type": "integer"}}
SCHEMA: JsonObject = {"type": "object", "properties": {"spec": {"type": "object", "properties": SPEC}}}
MARKED: JsonObject = {
    "metadata": {"name": "safes.light.example"},
    "spec": {
        "group": "light.example",
        "scope": "Namespaced",
        "names": {"plural": "safes", "singular": "safe", "kind": "Safe"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}],
    },
}


async def test_a_field_that_its_schema_marks_as_a_password_is_not_shown(plane: Plane, site: Site) -> None:
    await plane.client.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    await plane.client.create(DEFINITIONS, MARKED)
    spec = {"motto": "open-sesame", "doors": [{"knock": "three-times"}], "size": 1}
    body = {"apiVersion": "light.example/v1", "kind": "Safe", "metadata": {"name": "one"}, "spec": spec}
    path, page = "/apis/light.example/v1/namespaces/shop/safes", "/objects/light.example/safes/shop/one"
    await plane.client.create(path, body)
    await site.shows("/objects/light.example/safes", "one")
    form = await site.open(f"{page}/edit")
    text = form.document.one("textarea").text.lstrip("\n")
    sent = {"proof": proof_of(form), "basis": form.document.one("input", name="basis").attributes["value"]}
    changed = {**sent, "step": "preview", "text": text.replace("size: 1", "size: 2").replace("(hidden)", "other", 1)}
    preview = await site.send(f"{page}/edit", {**sent, "step": "preview", "text": text.replace("size: 1", "size: 2")})
    for each in (await site.open(page), form, preview):
        assert ("(hidden)" in each.source, "sesame" in each.source, "three-times" in each.source) == (
            True,
            False,
            False,
        )
    assert "open-sesame" not in (await site.send(f"{page}/edit", changed)).source
    await site.send(f"{page}/edit", {**sent, "step": "apply", "text": text.replace("size: 1", "size: 2")})
    assert (await plane.client.get(f"{path}/one"))["spec"] == {**spec, "size": 2}
