from __future__ import annotations

import pytest

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.errors import UnrenderedError, ValidationError
from homeostat.operators.sync.engine.metadata.call import Call, Place, render_call
from homeostat.operators.sync.engine.metadata.defaults import added, compact, infer, with_defaults
from homeostat.operators.sync.engine.metadata.document import read_document
from homeostat.operators.sync.engine.metadata.layers import Metadata
from homeostat.operators.sync.engine.metadata.merge import merged
from homeostat.operators.sync.engine.payload import yaml
from homeostat.operators.sync.engine.templates.identity import parse_identity
from homeostat.operators.sync.engine.templates.scope import Scope, render
from homeostat.operators.sync.engine.tree.directory import directory_of

_WIDGET = {"name": "  Widget  ", "metadata": {"externalId": "ext-1"}, "numericSuffix": 42}


def of(documents: dict[str, JsonObject]) -> Metadata:
    return Metadata(directory_of({f"{name}/metadata.yaml": yaml.dump(value) for name, value in documents.items()}))


def test_nothing_is_kept_for_a_resource_without_a_document() -> None:
    files = {f"zones/z/items/{number}/resource.json": b"{}" for number in range(50)}
    metadata = Metadata(directory_of({**files, "zones/z/items/_/metadata.json": b'{"resource": {"id": "/key"}}'}))
    assert all(metadata.rules(f"/zones/z/items/{number}").id.pointers == ["/key"] for number in range(50))
    source = metadata._sources[0]
    assert len(source.matched) + len(source.nearby) + len(source.read) + len(source.wild) < 20


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("{{uppercase /name}}", "WIDGET"),
        ("{{lowercase /name}}", "widget"),
        ("{{trim /name}}", "Widget"),
        ("{{substring /name 0 3}}", "Wid"),
        ("{{default /missing /metadata/externalId}}", "ext-1"),
        ("{{default /missing /numericSuffix}}", "42"),
        ("{{name}}-{{/numericSuffix}}", "Widget-42"),
        ("/numericSuffix", "42"),
    ],
)
def test_identities_are_rendered(template: str, found: str) -> None:
    assert parse_identity(template).render(_WIDGET) == found


@pytest.mark.parametrize(
    "template", ["{{", "{{ }}", "{{unknown /name}}", "{{substring /name}}", "{{/name}", '{{default /a "b}}', "", "a}}"]
)
def test_a_malformed_template_is_refused(template: str) -> None:
    with pytest.raises(ValidationError):
        parse_identity(template)


def test_a_missing_value_is_named() -> None:
    with pytest.raises(UnrenderedError, match="/missing"):
        parse_identity("{{/missing}}").render(_WIDGET)
    assert parse_identity("{{default /a /b/c}}-{{substring /d 0 1}}").pointers == ["/a", "/b/c", "/d"]


@pytest.mark.parametrize("name", ["..", "_"])
def test_an_identity_is_one_segment(name: str) -> None:
    with pytest.raises(ValidationError):
        parse_identity("/name").render({"name": name})


def test_a_slash_in_an_identity_is_escaped_in_files_and_addresses() -> None:
    name = parse_identity("/name").render({"name": "a/b 50%"})
    assert name == "a%2Fb 50%"
    assert Call("GET", f"/queues/{name}").target == "/queues/a%2Fb%2050%25"
    literal = parse_identity("/name").render({"name": "a%2Fb"})
    assert Call("GET", f"/{literal}").target == "/a%252Fb"
    scope = Scope(payload={"source": "a/b"})
    assert render("./e/{{segment /source}}", scope) == "./e/a%2Fb"


def test_layers_apply_from_the_root_to_the_literal_name() -> None:
    exclude = [{"excludeAttributes": ["/root"]}]
    found = of(
        {
            "customers/_": {
                "operations": {"defaults": {"transforms": exclude}, "get": {"headers": {"X-Order": "c", "X-Root": "r"}}}
            },
            "customers/*/_": {"operations": {"get": {"headers": {"X-Wild": "first", "X-Order": "w1"}}}},
            "customers/a*/_": {"operations": {"get": {"headers": {"X-Wild": "second", "X-Order": "w2"}}}},
            "customers/acme/_": {
                "operations": {"defaults": {"transforms": []}, "get": {"headers": {"X-Order": "literal"}}}
            },
            "customers/acme": {"operations": {"get": {"path": "/special", "headers": {"X-Own": "o"}}}},
        }
    ).overrides("/customers/acme")
    assert found["operations"]["defaults"]["transforms"] == []
    headers = {"X-Order": "literal", "X-Root": "r", "X-Wild": "second", "X-Own": "o"}
    assert found["operations"]["get"] == {"path": "/special", "headers": headers}


def test_a_collection_does_not_leak_to_grandchildren_unless_it_says_so() -> None:
    document: JsonObject = {"resource": {"id": "/name"}}
    path = "/projects/p/secrets/path/to/x"
    assert of({"projects/_/secrets/_": document}).overrides(path) == {}
    below = of({"projects/_/secrets/_": {**document, "selector": {"descendants": True}}})
    assert below.overrides(path) == document


def test_descendants_keep_their_path_on_the_server() -> None:
    found = of(
        {
            "projects/_/secrets/_": {
                "selector": {"descendants": True},
                "resource": {
                    "id": "/name",
                    "remoteCollectionPath": "/storage/keys/project/{{/project}}{{/descendantCollectionPath}}",
                },
            }
        }
    )

    def path(operation: str, logical: str, *, is_collection: bool = False) -> str:
        rules = found.rules(logical, is_collection=is_collection)
        return render_call(
            rules, rules.operations[operation], Place(path=logical, is_collection=is_collection), None
        ).path

    base = "/storage/keys/project/platform"
    assert path("get", "/projects/platform/secrets/path/to/db") == f"{base}/path/to/db"
    assert path("get", "/projects/platform/secrets/db") == f"{base}/db"
    assert path("list", "/projects/platform/secrets/path/to", is_collection=True) == f"{base}/path/to"


def test_templates_see_payload_and_identity() -> None:
    get = {"path": "/api{{/remoteCollectionPath}}/{{/alias}}/{{/remoteID}}", "headers": {"X-Tenant": "{{/tenant}}"}}
    rules = of({"customers/_": {"resource": {"id": "/id", "alias": "/slug"}, "operations": {"get": get}}}).rules(
        "/customers/acme"
    )
    place = Place(path="/customers/acme", alias="acme", remote_id="42")
    call = render_call(rules, rules.operations["get"], place, {"id": 42, "slug": "acme", "tenant": "north"})
    assert (call.path, call.headers) == ("/api/customers/acme/42", {"X-Tenant": "north"})


def test_a_rendered_path_cannot_lead_upwards() -> None:
    rules = of({"c/_": {"operations": {"get": {"path": "./{{/name}}"}}}}).rules("/c/x")
    with pytest.raises(ValidationError):
        render_call(rules, rules.operations["get"], Place(path="/c/x"), {"name": "../../admin"})


@pytest.mark.parametrize(
    "document",
    [
        {"resource": {"idd": "/id"}},
        {"resource": {"secret": True, "secretAttributes": ["/a"]}},
        {"resource": {"format": "text", "id": "/id"}},
        {"resource": {"format": "nonsense"}},
        {"operations": {"fetch": {}}},
        {"operations": {"get": {"transforms": [{"selectAttributes": ["/a"], "jqExpression": "."}]}}},
        {"operations": {"get": {"path": "{{"}}},
        {"resource": {"externalizedAttributes": [{"path": "/a", "file": "../x"}]}},
        {"resource": {"externalizedAttributes": [{"path": "/a", "file": "x"}, {"path": "/b", "file": "x"}]}},
        [],
    ],
)
def test_a_bad_document_is_refused(document: Json) -> None:
    with pytest.raises(ValidationError):
        read_document(document, is_collection=True)


def test_descendants_belong_to_collections() -> None:
    document = {"selector": {"descendants": True}}
    assert read_document(document, is_collection=True) == document
    with pytest.raises(ValidationError):
        read_document(document, is_collection=False)


def test_lists_replace_and_maps_merge() -> None:
    outer = {"resource": {"secretAttributes": ["/a"]}, "operations": {"get": {"query": {"a": "1"}, "method": "POST"}}}
    inner = {"resource": {"secretAttributes": []}, "operations": {"get": {"query": {"b": "2"}}}}
    assert merged(outer, inner) == {
        "resource": {"secretAttributes": []},
        "operations": {"get": {"query": {"a": "1", "b": "2"}, "method": "POST"}},
    }
    assert merged(outer, {"operations": {"get": {"query": {}}}})["operations"]["get"]["query"] == {}


def test_defaults_are_laid_under_a_payload_and_taken_out_again() -> None:
    defaults = {"id": "g", "spec": {"enabled": True, "tags": ["d"], "nested": {"region": "r"}}}
    payload = {"spec": {"enabled": False, "tags": ["o"], "nested": {"tier": "gold"}}, "notes": None}
    whole = with_defaults(payload, defaults)
    assert whole == {
        "id": "g",
        "spec": {"enabled": False, "tags": ["o"], "nested": {"region": "r", "tier": "gold"}},
        "notes": None,
    }
    assert compact(whole, defaults) == payload
    assert compact(defaults, defaults) == {}


def test_defaults_are_inferred_from_equal_leaves() -> None:
    assert infer([{"a": 1, "b": {"c": 1, "d": 2}, "e": {}}, {"a": 2, "b": {"c": 1, "d": 3}, "e": {}}]) == {
        "b": {"c": 1},
        "e": {},
    }
    assert added([{"id": "1", "status": "active"}, {"id": "2", "status": "active"}], [{"id": "1"}, {"id": "2"}]) == {
        "status": "active"
    }


def test_rules_are_compiled_once_for_a_collection() -> None:
    found = of({"c/_": {"resource": {"id": "/name"}}})
    assert found.rules("/c/a") is found.rules("/c/b")
