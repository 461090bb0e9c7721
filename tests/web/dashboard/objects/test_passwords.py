"""Fields of custom kinds that their schema marks with `format: password`: hidden on every page, kept by an edit."""

from __future__ import annotations

from pathlib import Path

import pytest

from homeostat.client.passwords import without_passwords
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.plane import Plane, Settings, open_plane
from homeostat.web.dashboard.objects.kinds import ServedKinds
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


async def test_a_kind_whose_definition_cannot_be_read_is_not_taken_for_one_without_passwords(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, port=0, operators=frozenset())
    async with open_plane(settings) as plane:
        nobody = plane.client.bearing("nobody")
        with pytest.raises(ApiError):
            await ServedKinds(nobody).passwords_of(Kind("light.example", "v1", "safes", "Safe", is_namespaced=True))
        safes: list[JsonObject] = [{"apiVersion": "light.example/v1", "kind": "Safe", "metadata": {"name": "one"}}]
        with pytest.raises(ApiError):
            await without_passwords(nobody, safes)
