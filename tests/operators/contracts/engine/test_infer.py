"""A schema from a sample."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.json import encode
from homeostat.operators.contracts.engine.schema.infer import infer_schema
from homeostat.operators.contracts.engine.schema.json_schema import compile_schema

_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from([0.5]) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)


def test_every_key_is_required_and_the_root_is_closed() -> None:
    schema = infer_schema({"port": 80, "hosts": ["a", "b"], "mixed": [1, "a"], "db": {"tls": True}})
    assert schema["required"] == ["db", "hosts", "mixed", "port"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["hosts"] == {"type": "array", "items": {"type": "string"}}
    assert schema["properties"]["mixed"] == {"type": "array"}
    assert schema["properties"]["db"]["required"] == ["tls"]


@given(st.dictionaries(st.text("ab", max_size=2), _values, max_size=4))
def test_a_sample_satisfies_its_schema(sample: dict[str, object]) -> None:
    assert compile_schema(encode(infer_schema(sample))).violations(sample) == []
