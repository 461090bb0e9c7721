from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.errors import ConflictError, ValidationError
from homeostat.operators.sync.engine.payload import ini, pointer, properties, yaml
from homeostat.operators.sync.engine.payload.codec import decode, encode, guess
from homeostat.operators.sync.engine.payload.format import BINARY, INI, JSON, PROPERTIES, YAML, by_extension, by_media
from homeostat.operators.sync.engine.payload.value import is_same
from homeostat.operators.sync.engine.tree.layout import payload_file

_texts = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\x85\u2028\u2029", exclude_categories=["Cs", "Cc"]), max_size=20
)
_scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
_values = st.recursive(
    _scalars | _texts, lambda each: st.lists(each, max_size=4) | st.dictionaries(_texts, each, max_size=4)
)


@given(_values)
def test_json_and_yaml_read_back_what_they_wrote(value: Json) -> None:
    assert is_same(decode(encode(value, JSON), JSON), value)
    assert is_same(yaml.load(yaml.dump(value)), value)


@given(st.dictionaries(_texts.filter(str.strip), _texts, max_size=5))
def test_properties_read_back_what_they_wrote(value: dict[str, str]) -> None:
    assert properties.load(properties.dump(value)) == value


def test_ini_has_one_level_of_sections() -> None:
    value = {"a": "1", "s": {"k": "v"}}
    assert ini.dump(value) == "a = 1\n\n[s]\nk = v\n"
    assert ini.load(ini.dump(value)) == value
    with pytest.raises(ValidationError):
        ini.dump({"s": {"t": {"u": "v"}}})


def test_numbers_beyond_64_bits_and_infinity_are_refused() -> None:
    assert decode(b"9223372036854775807", JSON) == 2**63 - 1
    for data in (b"9223372036854775808", b"Infinity", b"NaN", b"1e999"):
        with pytest.raises(ValidationError):
            decode(data, JSON)
    with pytest.raises(ValidationError):
        decode(b"a: .inf", YAML)


def test_yaml_keeps_words_of_older_dialects_as_texts() -> None:
    assert yaml.load(b"on: yes\nd: 2020-01-01\no: 0755\nn: 3") == {"on": "yes", "d": "2020-01-01", "o": "0755", "n": 3}


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2",
        "1: a",
        "[a, b]: c",
        "a: &x [*x]",
        "a: 1\n---\nb: 2",
        "a: !!python/object:os.system x",
        "a: !!timestamp x",
        "a: !!bool x",
        "a: !!int",
        "{" * 300_000,
        "- " * 300_000,
        "a: !!int '1" + ":1" * 300_000 + "'",
        "".join(f"%TAG !{number}! x\n" for number in range(20_000)) + "--- a",
        "a0: &a0 {x: 1}\n"
        + "".join(f"a{n}: &a{n} {{!!merge m: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 9)),
        f'a: &a "{"x" * 1_000_000}"\nb: [{", ".join(["*a"] * 1000)}]',
        f"numbers: &a [{', '.join(['1'] * 2000)}]\nb: [{', '.join(['*a'] * 1000)}]",
    ],
    ids=lambda text: text[:20],
)
def test_yaml_without_a_json_form_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        yaml.load(text.encode())


def test_aliases_cannot_expand_without_limit() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(ValidationError):
        yaml.load("\n".join(lines).encode())


def test_deep_nesting_is_refused() -> None:
    for data, form in ((b"[" * 400 + b"]" * 400, JSON), (b"[" * 400 + b"]" * 400, YAML)):
        with pytest.raises(ValidationError):
            decode(data, form)


def test_lists_do_not_fit_into_properties() -> None:
    with pytest.raises(ValidationError):
        encode({"a": [1]}, PROPERTIES)


def test_two_payload_files_are_a_conflict() -> None:
    with pytest.raises(ConflictError):
        payload_file(["resource.json", "resource.yaml"])


def test_a_form_follows_from_extension_and_media_type() -> None:
    assert by_extension(".yml").type == "yaml"
    assert by_extension(".csv").media == "text/csv"
    assert by_extension(".pem").extension == ".pem"
    assert by_extension(".pem").type == "octet-stream"
    assert by_media("application/problem+json; charset=utf-8") is not None
    assert by_media("image/png") is None
    assert by_extension(".ini") == INI


def test_input_without_a_name_is_json_or_yaml_or_bytes() -> None:
    assert guess(b'{"a": 1}').form == JSON
    assert guess(b"a: 1\n").form == YAML
    assert guess(b"\x00\x01").form == BINARY


def test_pointers_follow_the_rfc() -> None:
    value = {"a/b": {"~c": [1, {"d": 2}]}}
    assert pointer.join("a/b", "~c") == "/a~1b/~0c"
    assert pointer.get(value, "/a~1b/~0c/1/d") == 2
    assert pointer.get(value, "/nothing") is pointer.MISSING
    assert pointer.put({}, "/a/1", "x") == {"a": [None, "x"]}
    assert pointer.without(value, "/a~1b/~0c/0") == {"a/b": {"~c": [{"d": 2}]}}
    assert pointer.without(value, "/x/y") is value
    assert pointer.only({"a": {"b": 1, "c": 2}, "d": 3}, ["/a/b"]) == {"a": {"b": 1}}


def test_a_pointer_cannot_grow_a_list_without_limit() -> None:
    with pytest.raises(ValidationError):
        pointer.put([], "/99999999", 1)
