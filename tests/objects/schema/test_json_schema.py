from typing import Any

from hypothesis import given

from homeostat.objects.schema.explain import explain
from homeostat.objects.schema.json_schema import accepter
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.schema import Schema
from tests.examples import examples
from tests.objects.schemas import schemas, values


@examples(250)
@given(schemas, values)
def test_the_engine_and_the_walk_refuse_the_same_values(raw: dict[str, Any], value: Any) -> None:
    schema = schema_of(raw)
    assert accepter(schema).accepts(value) == (explain(value, schema) == [])


def test_named_nodes_may_refer_to_themselves() -> None:
    node = Schema(type="object", name="io.example.Tree")
    node.properties["leaf"] = Schema(type="string")
    node.properties["branches"] = Schema(type="array", items=node)
    accepts = accepter(node).accepts
    assert accepts({"leaf": "a", "branches": [{"leaf": "b"}]})
    assert not accepts({"branches": [{"branches": [{"leaf": 1}]}]})
