from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.errors import BadRequestError, TooLargeError
from homeostat.objects.yaml import YamlError, dump, dump_all, load, load_all, load_located

Json = Any


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("y", True),
        ("on", True),
        ("No", False),
        ("off", False),
        ("TRUE", True),
        ("tRUE", "tRUE"),
        ("~", None),
        ("null", None),
        ("", None),
        ("0755", 493),
        ("012", 10),
        ("0o14", 12),
        ("089", 89),
        ("08.5", 8.5),
        ("0x1F", 31),
        ("-0b11", -3),
        ("1_000", 1000),
        ("+1", 1),
        ("1e3", 1000),
        ("1.0", 1),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5),
        ("1e21", 1e21),
        ("1e400", "1e400"),
        ("18446744073709551615", 18446744073709551615),
        ("18446744073709551616", 18446744073709552000),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("0o9", "0o9"),
        ("0x", "0x"),
        ("1.2.3", "1.2.3"),
        ("'yes'", "yes"),
        ('"1"', "1"),
        ("!!str 1", "1"),
        ("! 1", "1"),
        ("!!int 7", 7),
        ("!!bool yes", True),
        ("{a: 1, b: [x, 2]}", {"a": 1, "b": ["x", 2]}),
        ("|\n  two\n  lines\n", "two\nlines\n"),
    ],
)
def test_a_scalar_means_what_it_means_to_kubectl(text: str, value: Json) -> None:
    found = load(f"k: {text}".encode())["k"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: .inf", 1),
        ("a: 1\nb: -.INF", 2),
        ("a: .nan", 1),
        ("a: 1\na: 2", 2),
        ("1: a\n'1': b", 2),
        ("x: {a: 1, a: 2}", 1),
        ("a: *nowhere", 1),
        ("a: &a [*a]", 1),
        ("a: !!python/object:os.system x", 1),
        ("a: !local x", 1),
        ("a: !!binary aGk=", 1),
        ("a: !!timestamp 2024-01-01", 1),
        ("a: !!int x", 1),
        ("? [a]\n: b", 1),
        ("~: b", 1),
        ("a: 1\nb: [1\n", 3),
        ("a: 1\n\tb: 2", 2),
        ("<<: 1", 1),
        ("a: @x", 1),
    ],
)
def test_what_kubectl_refuses_is_a_bad_request_that_names_the_line(text: str, line: int) -> None:
    with pytest.raises(BadRequestError, match=f"line {line}"):
        load(text.encode())


@pytest.mark.parametrize("data", [b"a: \x00", b"a: \xff", b"\xff\xfea", b"a: b: c", b"%", b"- a\nb", b"{a: 1", b"}"])
def test_what_is_no_yaml_is_a_bad_request(data: bytes) -> None:
    with pytest.raises(BadRequestError):
        load(data)


def test_keys_are_texts() -> None:
    assert load(b"{1: a, yes: b, 1.5: c, 0755: d}") == {"1": "a", "true": "b", "1.5": "c", "493": "d"}


def test_aliases_are_values_of_their_own() -> None:
    value = load(b"a: &x {b: [1]}\nc: *x\nd: *x")
    value["c"]["b"].append(2)
    assert value == {"a": {"b": [1]}, "c": {"b": [1, 2]}, "d": {"b": [1]}}


def test_merge_keys_fill_in_what_a_map_leaves_out() -> None:
    value = load(b"a: &a {x: 1, w: 1}\nb: &b {w: 2, z: 2}\nc:\n  <<: [*a, *b]\n  x: 3\n'<<': 4")
    assert value["c"] == {"x": 3, "w": 1, "z": 2}
    assert value["<<"] == 4


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(BadRequestError, match="excessive aliasing"):
        load("\n".join(lines).encode())


ALIASES_IN_ALIASES = (
    b"a0: &a0 " + b"[" * 150 + b"]" * 150 + b"\na1: &a1 " + b"[" * 150 + b"*a0" + b"]" * 150,
    b"\n".join([b"a0: &a0 []", *(b"a%d: &a%d [*a%d]" % (at, at, at - 1) for at in range(1, 300))]),
)


@pytest.mark.parametrize(
    "data",
    [b"[" * 600 + b"]" * 600, b"- " * 600 + b"x", b"{a: " * 600 + b"}" * 600, *ALIASES_IN_ALIASES],
)
def test_deep_nesting_is_refused(data: bytes) -> None:
    with pytest.raises(BadRequestError, match="deep"):
        load(data)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"".join(b"%%TAG !%d! x\n" % at for at in range(17)) + b"--- a", "more than 16 %TAG directives"),
        ("\ufeff" + "%TAG !a! x\n" * 17 + "--- a", "more than 16 %TAG directives"),
        (b"---\n" * 21_000, "more than 1000 empty documents"),
        (b"a: [%b]" % (b"x," * 200_001), "more than 200000 keys and values"),
    ],
    ids=["directives", "directives in UTF-16", "empty documents", "values"],
)
def test_what_takes_long_to_parse_is_refused(data: bytes | str, problem: str) -> None:
    with pytest.raises(BadRequestError, match=problem):
        load(data if isinstance(data, bytes) else data.encode("utf-16-be"))


def test_long_input_is_refused() -> None:
    with pytest.raises(TooLargeError):
        load(b"a: " + b"x" * 100, limit=100)


def test_a_stream_is_its_documents_without_the_empty_ones() -> None:
    data = b"# top\n---\na: 1\n---\n\n---\n# nothing\n---\nb: 2\n...\n"
    assert list(load_all(data)) == [{"a": 1}, {"b": 2}]


def test_several_documents_are_not_one() -> None:
    with pytest.raises(BadRequestError, match="several"):
        load(b"a: 1\n---\nb: 2")


def test_no_document_is_null() -> None:
    assert load(b"") is None
    assert load(b"# only a comment\n") is None


def test_json_is_yaml() -> None:
    assert load(b' {"a": "yes", "b": 1.0, "c": "2024-01-01", "d": "\\u00e9"}') == {
        "a": "yes",
        "b": 1.0,
        "c": "2024-01-01",
        "d": "é",
    }


def test_dump_prints_as_kubectl_does() -> None:
    value = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "web", "labels": {}, "annotations": {"on": "true", "port": "80", "at": "a: b"}},
        "data": {"file": "one\ntwo\n", "last": "x\n\ny", "kept": "z\n\n", "date": "2024-01-01", "oct": "0o14"},
        "list": [1, "a", ["b", ["c"]], {"k": [{"l": None}], "m": 1.5}, [], ""],
    }
    assert dump(value).decode() == (
        "apiVersion: v1\n"
        "data:\n"
        '  date: "2024-01-01"\n'
        "  file: |\n    one\n    two\n"
        "  kept: |+\n    z\n\n"
        "  last: |-\n    x\n\n    y\n"
        '  oct: "0o14"\n'
        "kind: ConfigMap\n"
        "list:\n"
        "- 1\n"
        "- a\n"
        "- - b\n  - - c\n"
        "- k:\n  - l: null\n  m: 1.5\n"
        "- []\n"
        '- ""\n'
        "metadata:\n"
        "  annotations:\n"
        "    at: 'a: b'\n"
        '    "on": "true"\n'
        '    port: "80"\n'
        "  labels: {}\n"
        "  name: web\n"
    )


def test_dump_all_separates_documents() -> None:
    assert list(load_all(dump_all([{"a": 1}, {"b": ["x"]}]))) == [{"a": 1}, {"b": ["x"]}]


texts = st.text(max_size=8) | st.text("yesnoYN01.:-_ #'\"\n\t|>&*!%@`{}[],?~=<x\u2028\x85é\U0001f600", max_size=6)
leaves = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(-(2.0**53), 2.0**53) | texts
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))


@given(st.dictionaries(texts, values, max_size=3) | values.filter(lambda each: each is not None))
def test_what_dump_writes_load_reads_back(value: Json) -> None:
    assert load(b"# not JSON\n" + dump(value)) == value


@given(st.binary(max_size=20) | st.text("ab:-[]{}&*!|>'\"\n #,?~0", max_size=20).map(str.encode))
def test_any_bytes_are_yaml_or_a_bad_request(data: bytes) -> None:
    try:
        list(load_all(data))
    except BadRequestError as error:
        assert error.message  # noqa: PT017


def test_located_documents_say_on_which_line_their_value_begins() -> None:
    text = b"# first\na: 1\n---\n# second\n\nb: 2\n---\n---\nc: 3\n"
    assert list(load_located(text)) == [(2, {"a": 1}), (6, {"b": 2}), (9, {"c": 3})]
    assert list(load_located(b'\n\n{"a": 1}')) == [(3, {"a": 1})]


@pytest.mark.parametrize(("text", "line"), [(b"a: 1\nb: [\n", 3), (b"a: 1\na: 2\n", 2), (b"a: !!python/none x", 1)])
def test_an_error_knows_its_line(text: bytes, line: int) -> None:
    with pytest.raises(YamlError) as caught:
        load(text)
    assert caught.value.line == line
