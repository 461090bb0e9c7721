"""What people are shown of a contract."""

from __future__ import annotations

from datetime import date

from homeostat.operators.contracts.engine.bundle.bundle import Bundle, Unresolved
from homeostat.operators.contracts.engine.diff.compare import Side, compare
from homeostat.operators.contracts.engine.diff.render import render_markdown, render_text
from homeostat.operators.contracts.engine.graph.graph import resolve
from homeostat.operators.contracts.engine.validate import load
from homeostat.operators.contracts.engine.views.doc import render_doc
from homeostat.operators.contracts.engine.views.explain import explain_fields, explain_text

_TODAY = date(2026, 6, 8)
_HEAD = 'pactoVersion: "1.2"\nservice: {name: mill, version: 1.1.0}\n'


def _bundle(text: str = "", **files: bytes) -> Bundle:
    content = {"pacto.yaml": (_HEAD + text).encode()} | {name.replace("_", "."): data for name, data in files.items()}
    return Bundle(load(content).contract, content)


def test_a_small_contract_is_explained_with_an_empty_owner_and_runtime() -> None:
    contract = _bundle().contract
    assert explain_fields(contract, _TODAY) == {
        "name": "mill",
        "version": "1.1.0",
        "owner": {},
        "pactoVersion": "1.2",
        "runtime": {"workloadType": "", "stateType": "", "scope": "", "durability": "", "dataCriticality": ""},
    }
    assert explain_text(contract, _TODAY) == "Service: mill@1.1.0\nPacto Version: 1.2\n"


def test_replicas_and_an_expired_assessment_are_named() -> None:
    text = (
        "scaling: {replicas: 3}\n"
        'readiness: {expires: "2020-01-01", checks: [{id: a, type: url, status: done, evidence: x, weight: 1}]}\n'
    )
    shown = explain_text(_bundle(text).contract, _TODAY)
    assert "\nScaling: 3 replicas\n" in shown
    assert "\n  Gate: FAIL (score 0 / minScore 100)\n" in shown
    assert "\n  Expires: 2020-01-01 (EXPIRED)\n" in shown


def test_dated_checks_are_explained() -> None:
    text = (
        'pactoVersion: "1.1"\nservice: {name: mill, version: 1.1.0}\n'
        "readiness: {checks: [{id: a, type: url, evidence: x, weight: 4, expires: 2027-01-01}]}\n"
    )
    contract = load({"pacto.yaml": text.encode()}).contract
    assert explain_fields(contract, _TODAY)["readiness"] == {
        "score": 100,
        "minScore": 100,
        "passing": True,
        "totalWeight": 4,
        "currentWeight": 4,
        "currentCount": 1,
        "expiredCount": 0,
        "invalidCount": 0,
        "checks": [
            {
                "id": "a",
                "type": "url",
                "evidence": "x",
                "weight": 4,
                "expires": "2027-01-01",
                "status": "Current",
                "daysRemaining": 207,
            }
        ],
    }
    assert "- a                Current   weight=4 expires=2027-01-01 evidence=x" in explain_text(contract, _TODAY)


def test_a_document_has_endpoints_settings_and_the_graph() -> None:
    bundle = _bundle(
        "interfaces: [{name: web, type: http, port: 80, contract: api.yaml}]\n"
        "configurations: [{name: app, schema: c.json}]\n"
        'dependencies: [{name: weir, ref: ../weir, required: true, compatibility: ">=1 || 3"}]\n',
        api_yaml=b"paths: {/levels: {get: {summary: All | levels}, parameters: []}}\n",
        c_json=b'{"properties": {"LOG": {"type": "string", "default": "info"}}}',
    )
    weir = Bundle(load({"pacto.yaml": b'pactoVersion: "1.0"\nservice: {name: weir, version: 2.0.0}\n'}).contract, {})
    text = render_doc(bundle, resolve(bundle.contract, {"../weir": weir}).graph, _TODAY)
    assert text.startswith("# mill\n\n**mill** `1.1.0` is a service with 1 interface and 1 dependency.\n")
    assert "| `GET` | `/levels` | All \\| levels |" in text
    assert "| `LOG` | string | info |" in text
    assert 'n0 -->|">=1 || 3"| n1' in text
    assert "- [Dependencies](#dependencies)" in text
    assert "Policies" not in text


def test_a_document_of_a_dependency_that_is_missing_has_no_edge() -> None:
    bundle = _bundle('dependencies: [{name: weir, ref: ../weir, compatibility: "*"}]\n')
    text = render_doc(bundle, resolve(bundle.contract, {"../weir": Unresolved("x")}).graph, _TODAY)
    assert "-.->" not in text
    assert "| weir | `../weir` | `*` | no |" in text


def _sides(old: Bundle, new: Bundle, old_weir: Bundle, new_weir: Bundle) -> tuple[Side, Side]:
    sides = []
    for path, bundle, weir in (("old", old, old_weir), ("new", new, new_weir)):
        fetched: dict[str, Bundle | Unresolved] = {"../weir": weir}
        sides.append(Side(path, bundle, resolve(bundle.contract, fetched).graph, fetched))
    return sides[0], sides[1]


def _weir(version: str, sbom: bytes, text: str = "") -> Bundle:
    head = f'pactoVersion: "1.0"\nservice: {{name: weir, version: {version}}}\n{text}'
    files = {"pacto.yaml": head.encode(), "sbom/a.cdx.json": sbom}
    return Bundle(load(files).contract, files)


def test_a_difference_shows_dependencies_the_graph_and_sboms() -> None:
    root = _bundle('dependencies: [{name: weir, ref: ../weir, compatibility: "*"}]\n')
    old = _weir("1.0.0", b'{"components": [{"name": "a", "version": "1"}]}')
    new = _weir("2.0.0", b'{"components": [{"name": "a", "version": "2"}]}', "scaling: {min: 1, max: 2}\n")
    found = compare(*_sides(root, root, old, new))
    assert render_text(found) == (
        "Classification: NON_BREAKING\n"
        "\n"
        "Dependency weir [NON_BREAKING] (2):\n"
        "  [NON_BREAKING] service.version (modified): service.version modified [1.0.0 -> 2.0.0]\n"
        "  [NON_BREAKING] scaling (added): scaling added [+ min=1 max=2]\n"
        "\n"
        "SBOM changes (1):\n"
        "  ~ a version: 1 -> 2\n"
        "\n"
        "Dependency graph changes:\n"
        "mill\n"
        "└─ weir          1.0.0 → 2.0.0\n"
    )
    markdown = render_markdown(found)
    assert "### Dependency: weir (`NON_BREAKING`)\n" in markdown
    assert "| `a` | modified | version | `1` | `2` |\n" in markdown
    assert "```\nmill\n└─ weir          1.0.0 → 2.0.0\n```\n" in markdown


def test_values_are_printed_as_the_original_prints_them() -> None:
    configuration = "configurations: [{name: app, schema: c.json}]\n"
    old = _bundle(configuration, c_json=b'{"required": ["a"], "x": 1}')
    new = _bundle(configuration, c_json=b'{"enum": [1, "b", {"z": null, "a": true}], "required": ["a"], "x": 2.5}')
    sides = [Side("p", each, resolve(each.contract, {}).graph) for each in (old, new)]
    shown = render_text(compare(*sides))
    assert "schema.enum (added): schema.enum added [+ [1 b map[a:true z:<nil>]]]\n" in shown
    assert "schema.x (modified): schema.x changed [1 -> 2.5]\n" in shown
