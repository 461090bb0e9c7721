"""The documentation of a contract as pages: complete, safe with hostile contracts, and the same in a browser."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser

from homeostat.operators.contracts.engine.bundle.bundle import Bundle, Unresolved
from homeostat.operators.contracts.engine.graph.graph import Graph, resolve
from homeostat.operators.contracts.engine.openapi.operation import read_api
from homeostat.operators.contracts.engine.validate import load
from homeostat.web.documentation.diagram import MAX_NODES, draw
from homeostat.web.documentation.operations import example, sample, shape
from homeostat.web.documentation.site import api_names, render_interface, render_site

TODAY = date(2026, 11, 17)
EVIL = "</title><script>alert(1)</script><img src=x onerror=alert(1)>"
CONTRACT = f"""\
pactoVersion: "1.2"
service:
  name: mill
  version: 1.2.3
  owner: {{team: millers, contacts: [{{type: url, value: "javascript:alert(1)"}}]}}
interfaces:
  - {{name: "web {EVIL}", type: http, port: 8080, contract: interfaces/api.yaml}}
  - {{name: web, type: http, port: 80, contract: interfaces/api.yaml}}
  - {{name: flour, type: event, contract: interfaces/flour.yaml}}
configurations:
  - {{name: app, schema: configuration/schema.json, values: {{PASSWORD: "secret://vault/mill", LEVEL: "{EVIL}"}}}}
dependencies:
  - {{name: weir, ref: "oci://r.test/c/weir", compatibility: "^1", required: true}}
  - {{name: gate, ref: "oci://r.test/c/gate", compatibility: "*"}}
readiness:
  expires: "2027-01-01"
  minScore: 80
  checks: [{{id: book, type: document, status: partial, evidence: "{EVIL}", weight: 10}}]
metadata: {{note: "{EVIL}"}}
"""
API = f"""\
openapi: 3.0.3
info: {{title: "{EVIL}", version: "1"}}
paths:
  /sacks/{{id}}:
    put:
      summary: "{EVIL}"
      parameters:
        - {{name: id, in: path, schema: {{type: string}}}}
        - {{name: on, in: query, required: true, schema: {{type: string, format: date}}}}
        - {{name: X-Team, in: header, required: true, schema: {{enum: ["it's"]}}}}
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties: {{kilos: {{type: integer}}, of: {{type: array, items: {{type: string}}}}}}
      responses: {{"200": {{description: Kept}}}}
"""
FILES = {
    "pacto.yaml": CONTRACT.encode(),
    "interfaces/api.yaml": API.encode(),
    "interfaces/flour.yaml": b"asyncapi: 2.6.0\n",
    "configuration/schema.json": b'{"properties": {"LEVEL": {"type": "string", "default": "info"}}}',
}


def _bundle(files: dict[str, bytes]) -> Bundle:
    return Bundle(load(files).contract, files)


def _graph(bundle: Bundle) -> Graph:
    weir = _bundle({"pacto.yaml": b'pactoVersion: "1.2"\nservice: {name: weir, version: 1.0.0}\n'})
    fetched: dict[str, Bundle | Unresolved] = {
        "oci://r.test/c/weir": weir,
        "oci://r.test/c/gate": Unresolved("not found"),
    }
    return resolve(bundle.contract, fetched).graph


@pytest.fixture(scope="module")
def site() -> dict[str, str]:
    bundle = _bundle(FILES)
    return {name: data.decode() for name, data in render_site(bundle, _graph(bundle), TODAY).items()}


def test_every_link_leads_to_a_page_or_a_heading(site: dict[str, str]) -> None:
    assert len(site) == 4
    for text in site.values():
        for address in re.findall(r'href="([^"]*)"', text):
            name, _, heading = address.partition("#")
            assert not name or name in site
            assert not heading or f'id="{heading}"' in text


def test_what_a_contract_holds_is_shown_and_never_run(site: dict[str, str]) -> None:
    for text in site.values():
        assert "<script" not in text
        assert "<img" not in text
        assert not any(each.startswith("javascript:") for each in re.findall(r'href="([^"]*)"', text))
        assert "default-src &#x27;none&#x27;" in text
    assert "&lt;script&gt;" in site["index.html"]


def test_the_overview_shows_what_the_service_is_offers_and_needs(site: dict[str, str]) -> None:
    text = site["index.html"]
    assert "mill is a service with 3 interfaces and 2 dependencies." in text
    assert "a secret" in text
    assert "secret://" not in text
    assert 'title="' not in text.partition("<svg")[2].partition("</svg>")[0]
    assert "Score 50 of 100; 80 are needed" in text
    assert ">unresolved<" in text


def test_an_example_call_is_safe_to_paste() -> None:
    api = read_api(FILES, "interfaces/api.yaml")
    assert api is not None
    assert example(api.operations[0], "http://mill:8080/") == (
        "curl -X PUT 'http://mill:8080/sacks/{id}?on=2026-01-31' -H 'X-Team: it'\"'\"'s' "
        """-H 'Content-Type: application/json' -d '{"kilos":0,"of":["string"]}'"""
    )


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "array", "items": {"type": "integer", "format": "int64"}}, "list of integer (int64)"),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
        ({"enum": ["a", 1]}, "a or 1"),
        ({"type": ["string", "null"]}, "string or null"),
        ({}, ""),
    ],
)
def test_a_schema_has_a_short_form(schema: dict[str, object], text: str) -> None:
    assert shape(schema) == text


def test_a_sample_takes_examples_and_defaults_first() -> None:
    schema = {"properties": {"a": {"default": 5}, "b": {"enum": ["x"]}, "c": {"type": "string", "format": "date"}}}
    assert sample(schema) == {"a": 5, "b": "x", "c": "2026-01-31"}


def test_one_interface_has_a_page_of_its_own() -> None:
    bundle = _bundle(FILES)
    assert api_names(bundle) == [f"web {EVIL}", "web"]
    page = render_interface(bundle, "web", target="https://mill.test")
    assert page is not None
    assert b"https://mill.test/sacks/{id}" in page
    assert render_interface(bundle, "flour") is None


def test_a_graph_that_is_too_large_is_not_drawn() -> None:
    needs = "".join(f'  - {{name: d{n}, ref: "oci://r.test/c/d{n}", compatibility: "*"}}\n' for n in range(MAX_NODES))
    text = f'pactoVersion: "1.2"\nservice: {{name: mill, version: 1.0.0}}\ndependencies:\n{needs}'
    bundle = _bundle({"pacto.yaml": text.encode()})
    fetched = {each.ref: Unresolved("not found") for each in bundle.contract.dependencies}
    assert draw(resolve(bundle.contract, fetched).graph) is None


async def test_a_browser_shows_the_files_in_light_and_dark_without_a_complaint(
    site: dict[str, str], browser: Browser, tmp_path: Path
) -> None:
    for name, text in site.items():
        (tmp_path / name).write_text(text)
    colours, troubles = set(), []
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        context = await browser.new_context(color_scheme=scheme)
        tab = await context.new_page()
        tab.on("console", lambda message: troubles.append(message.text))
        for name in site:
            await tab.goto(f"file://{tmp_path}/{name}")
        colours.add(await tab.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
        await context.close()
    assert troubles == []
    assert len(colours) == 2
