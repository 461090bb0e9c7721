import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.crd.definition import default_crd, validate_crd, validate_crd_update
from tests.examples import examples
from tests.objects.definitions import Edit, column, good_crd, names, scale, second_version, selectable, spec, version
from tests.objects.schemas import any_json

NAME_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)


BAD: dict[str, tuple[Edit, str, str]] = {
    "name is not plural.group": (
        lambda crd: crd["metadata"].update(name="x.example.com"),
        "metadata.name",
        'Invalid value: "x.example.com": must be spec.names.plural+"."+spec.group',
    ),
    "no group": (spec(lambda it: it.pop("group")), "spec.group", "Required value"),
    "bad group": (
        spec(lambda it: it.update(group="Example.com")),
        "spec.group",
        'Invalid value: "Example.com": a lowercase',
    ),
    "group without a dot": (
        spec(lambda it: it.update(group="example")),
        "spec.group",
        'Invalid value: "example": should be a domain with at least one dot',
    ),
    "protected group": (
        spec(lambda it: it.update(group="x.k8s.io")),
        "metadata.annotations[api-approved.kubernetes.io]",
        "Required value: protected groups must have approval",
    ),
    "no scope": (spec(lambda it: it.pop("scope")), "spec.scope", "Required value"),
    "bad scope": (
        spec(lambda it: it.update(scope="Global")),
        "spec.scope",
        'Unsupported value: "Global": supported values: "Cluster", "Namespaced"',
    ),
    "no plural": (names(plural=""), "spec.names.plural", "Required value"),
    "no singular": (names(singular=None), "spec.names.singular", "Required value"),
    "no kind": (names(kind=""), "spec.names.kind", "Required value"),
    "no list kind": (names(listKind=""), "spec.names.listKind", "Required value"),
    "bad plural": (names(plural="Widgets"), "spec.names.plural", f'Invalid value: "Widgets": {NAME_1035}'),
    "bad singular": (names(singular="1widget"), "spec.names.singular", f'Invalid value: "1widget": {NAME_1035}'),
    "bad kind": (
        names(kind="My_Widget"),
        "spec.names.kind",
        f'Invalid value: "My_Widget": may have mixed case, but should otherwise match: {NAME_1035}',
    ),
    "bad list kind": (names(listKind="W L"), "spec.names.listKind", 'Invalid value: "W L": may have mixed case'),
    "kind is list kind": (
        names(listKind="Widget"),
        "spec.names.listKind",
        'Invalid value: "Widget": kind and listKind may not be the same',
    ),
    "bad short name": (names(shortNames=["wd", "W"]), "spec.names.shortNames[1]", 'Invalid value: "W"'),
    "bad category": (names(categories=["A"]), "spec.names.categories[0]", 'Invalid value: "A"'),
    "long plural": (
        names(plural="a" * 64),
        "spec.names.plural",
        f'Invalid value: "{"a" * 64}": must be no more than 63',
    ),
    "no versions": (
        spec(lambda it: it.update(versions=[])),
        "spec.versions",
        "Invalid value: []: must have exactly one version marked as storage version",
    ),
    "no storage version": (
        version(storage=False),
        "spec.versions",
        'Invalid value: ["v1"]: must have exactly one version marked as storage version',
    ),
    "two storage versions": (
        second_version(storage=True),
        "spec.versions",
        'Invalid value: ["v1","v2"]: must have exactly one version marked as storage version',
    ),
    "same version twice": (
        second_version(name="v1"),
        "spec.versions",
        'Invalid value: ["v1","v1"]: must contain unique version names',
    ),
    "bad version name": (version(name="V1"), "spec.versions[0].name", f'Invalid value: "V1": {NAME_1035}'),
    "no schema": (
        version(schema=None),
        "spec.versions[0].schema.openAPIV3Schema",
        "Required value: schemas are required",
    ),
    "empty schema object": (
        version(schema={}),
        "spec.versions[0].schema.openAPIV3Schema",
        "Required value: schemas are required",
    ),
    "conversion by webhook": (
        spec(lambda it: it.update(conversion={"strategy": "Webhook"})),
        "spec.conversion.webhookClientConfig",
        "Required value: required when strategy is set to Webhook",
    ),
    "webhook without the strategy": (
        spec(lambda it: it.update(conversion={"strategy": "None", "webhook": {"clientConfig": {}}})),
        "spec.conversion.webhookClientConfig",
        "Forbidden: should not be set when strategy is not set to Webhook",
    ),
    "fields preserved for all": (
        spec(lambda it: it.update(preserveUnknownFields=True)),
        "spec.preserveUnknownFields",
        "Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true",
    ),
    "spec is a list": (lambda crd: crd.update(spec=[]), "spec", 'Invalid value: "array": must be an object'),
    "group is a number": (
        spec(lambda it: it.update(group=1)),
        "spec.group",
        'Invalid value: "integer": must be a string',
    ),
    "names is a string": (
        spec(lambda it: it.update(names="x")),
        "spec.names",
        'Invalid value: "string": must be an object',
    ),
    "short names is a string": (
        names(shortNames="wd"),
        "spec.names.shortNames",
        'Invalid value: "string": must be an array',
    ),
    "versions is an object": (
        spec(lambda it: it.update(versions={})),
        "spec.versions",
        'Invalid value: "object": must be an array',
    ),
    "a version is null": (
        spec(lambda it: it.update(versions=[None])),
        "spec.versions[0]",
        'Invalid value: "null": must not be null',
    ),
    "served is a string": (
        version(served="true"),
        "spec.versions[0].served",
        'Invalid value: "string": must be a boolean',
    ),
    "priority is a fraction": (
        column(priority=1.5),
        "spec.versions[0].additionalPrinterColumns[0].priority",
        'Invalid value: "number": must be an integer',
    ),
    "schema is a list": (
        version(schema={"openAPIV3Schema": []}),
        "spec.versions[0].schema.openAPIV3Schema",
        'Invalid value: "array": must be an object',
    ),
}


@pytest.mark.parametrize(("edit", "field", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_definition_is_refused_with_its_cause(edit: Edit, field: str, message: str) -> None:
    crd = good_crd()
    edit(crd)
    told = {cause.field: cause.message for cause in validate_crd(crd) if cause.message.startswith(message)}
    assert field in told, validate_crd(crd)


GOOD: dict[str, Edit] = {
    "as it is": lambda _: None,
    "cluster scope": spec(lambda it: it.update(scope="Cluster")),
    "two versions": second_version(),
    "not served": version(served=False),
    "a scale": scale(labelSelectorPath=".status.selector"),
    "a column by condition": column(jsonPath='.status.conditions[?(@.type=="Ready")].status'),
    "a column by single quotes": column(jsonPath=".status.conditions[?(@.type=='Ready')].status"),
    "a column of the last item": column(jsonPath=".status.conditions[-1:].type"),
    "a column of all items": column(jsonPath=".spec.parts[*].name"),
    "a column of an annotation": column(jsonPath=r".metadata.annotations.example\.com/note"),
    "selectable fields": selectable(".spec.color", ".spec.size"),
    "a deprecated version": version(deprecated=True, deprecationWarning="use v2"),
    "short names": names(shortNames=["wd"], categories=["all"]),
    "an approved group": lambda crd: (
        crd["spec"].update(group="x.k8s.io"),
        crd["metadata"].update(name="widgets.x.k8s.io", annotations={"api-approved.kubernetes.io": "unapproved, test"}),
    ),
    "nulls": version(subresources=None, additionalPrinterColumns=None, deprecationWarning=None),
}


@pytest.mark.parametrize("edit", GOOD.values(), ids=GOOD.keys())
def test_a_good_definition_passes(edit: Edit) -> None:
    crd = good_crd()
    edit(crd)
    assert validate_crd(crd) == []


def test_versions_that_differ_are_reported_by_version() -> None:
    crd = good_crd()
    second_version(schema={"openAPIV3Schema": {"type": "object", "properties": {"spec": {}}}})(crd)
    (cause,) = validate_crd(crd)
    assert cause.field == "spec.versions[1].schema.openAPIV3Schema.properties[spec].type"


def test_names_and_conversion_have_defaults() -> None:
    crd = good_crd()
    crd["spec"]["names"] = {"plural": "widgets", "kind": "Widget"}
    del crd["spec"]["conversion"]
    default_crd(crd)
    assert crd == good_crd()


def _established(crd: dict[str, Any]) -> dict[str, Any]:
    crd["status"] = {"storedVersions": ["v1"], "conditions": [{"type": "Established", "status": "True"}]}
    return crd


FIXED: dict[str, tuple[Edit, str, str]] = {
    "scope": (
        spec(lambda it: it.update(scope="Cluster")),
        "spec.scope",
        'Invalid value: "Cluster": field is immutable',
    ),
    "kind": (names(kind="Gadget"), "spec.names.kind", 'Invalid value: "Gadget": field is immutable'),
    "group": (spec(lambda it: it.update(group="a.b")), "spec.group", 'Invalid value: "a.b": field is immutable'),
    "plural": (names(plural="gadgets"), "spec.names.plural", 'Invalid value: "gadgets": field is immutable'),
    "stored version": (
        version(name="v2"),
        "status.storedVersions[0]",
        'Invalid value: "v1": missing from spec.versions; v1 was previously a storage version',
    ),
}


@pytest.mark.parametrize(("edit", "field", "message"), FIXED.values(), ids=FIXED.keys())
def test_what_objects_are_stored_by_cannot_be_changed(edit: Edit, field: str, message: str) -> None:
    new = _established(good_crd())
    edit(new)
    causes = validate_crd_update(new, _established(good_crd()))
    assert any(cause.field == field and cause.message.startswith(message) for cause in causes), causes


def test_scope_may_change_until_the_definition_is_established() -> None:
    new = good_crd()
    new["spec"]["scope"] = "Cluster"
    assert validate_crd_update(new, good_crd()) == []


def test_a_new_definition_skips_the_schemas_of_a_valid_one_and_no_others() -> None:
    rule = {"rule": "this is not CEL"}
    crd, valid = good_crd(), good_crd()
    for each in (crd, valid):
        each["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [rule]
    assert validate_crd(crd, valid) == []
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "changed"
    (cause,) = validate_crd(crd, valid)
    assert "x-kubernetes-validations" in cause.field


def test_an_unchanged_schema_is_not_checked_against_newer_rules() -> None:
    old = _established(good_crd())
    old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].pop("type")
    new = copy.deepcopy(old)
    names(shortNames=["wd"])(new)
    assert validate_crd_update(new, old) == []
    new["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "changed"
    assert validate_crd_update(new, old) != []


PARTS = st.sampled_from(
    [
        ("metadata",),
        ("spec",),
        ("status",),
        ("spec", "names"),
        ("spec", "versions"),
        ("spec", "conversion"),
        ("spec", "versions", 0),
        ("spec", "versions", 0, "schema"),
        ("spec", "versions", 0, "subresources"),
        ("spec", "versions", 0, "additionalPrinterColumns"),
        ("spec", "versions", 0, "selectableFields"),
        ("spec", "versions", 0, "schema", "openAPIV3Schema"),
        ("spec", "versions", 0, "schema", "openAPIV3Schema", "properties"),
        ("spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec"),
    ]
)


@examples(200)
@given(PARTS, any_json)
def test_any_json_in_any_place_is_answered_with_causes(place: tuple[Any, ...], value: Any) -> None:
    crd: Any = good_crd()
    holder = crd
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    default_crd(crd)
    assert isinstance(validate_crd(crd), list)
    assert isinstance(validate_crd_update(crd, _established(good_crd())), list)


@examples(100)
@given(st.dictionaries(st.sampled_from(["metadata", "spec", "status"]), any_json))
def test_any_json_object_is_answered_with_causes(crd: dict[str, Any]) -> None:
    default_crd(crd)
    assert validate_crd(crd)
