import pytest

from homeostat.objects.crd.field_path import FieldPathError, resolve
from homeostat.objects.schema.openapi import schema_of

SCHEMA = schema_of(
    {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"a.b": {"type": "integer"}, "size": {"type": "string"}}},
            "labels": {"type": "object", "additionalProperties": {"type": "boolean"}},
        },
    }
)


@pytest.mark.parametrize(
    ("text", "written", "kind"),
    [
        (".spec", "spec", "object"),
        (".spec.size", "spec.size", "string"),
        (".spec['a.b']", "spec.a.b", "integer"),
        ("['spec']['size']", "spec.size", "string"),
        (".labels['x']", "labels[x]", "boolean"),
        (".labels.x", "labels[x]", "boolean"),
        (r".labels['it\'s']", "labels[it's]", "boolean"),
    ],
)
def test_a_path_leads_to_a_field(text: str, written: str, kind: str) -> None:
    path, schema = resolve(text, SCHEMA)
    assert (path, schema.type) == (written, kind)


@pytest.mark.parametrize(
    "text", ["spec", ".", ".spec.", ".x", ".spec.size.x", ".spec[0]", ".spec['a", r".labels['\q']"]
)
def test_a_path_to_nothing_is_refused(text: str) -> None:
    with pytest.raises(FieldPathError):
        resolve(text, SCHEMA)


def test_brackets_can_be_ruled_out() -> None:
    with pytest.raises(FieldPathError, match="array notation is not allowed"):
        resolve(".spec['size']", SCHEMA, brackets=False)
