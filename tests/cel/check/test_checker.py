"""What does not fit is refused with the words and the layout that users of Kubernetes know."""

from __future__ import annotations

import pytest

from homeostat.cel import BOOL, DYN, INT, STRING, CompileError, Environment, ListType, MapType, ObjectType

SPEC = ObjectType("Widget.spec", {"replicas": INT, "names": ListType(STRING)})
WIDGET = ObjectType("Widget", {"spec": SPEC, "labels": MapType(STRING, STRING), "on": BOOL, "any": DYN})
ENVIRONMENT = Environment({"self": WIDGET, "i": INT})

MESSAGES = [
    ("x", "undeclared reference to 'x' (in container '')"),
    ("x.y.z == 1", "undeclared reference to 'x' (in container '')"),
    ("self.y", "undefined field 'y'"),
    ("self.spec.y", "undefined field 'y'"),
    ("has(self.y)", "undefined field 'y'"),
    ("i.y", "type 'int' does not support field selection"),
    ("i == 'a'", "found no matching overload for '_==_' applied to '(int, string)'"),
    ("i + 'a'", "found no matching overload for '_+_' applied to '(int, string)'"),
    ("self == 1", "found no matching overload for '_==_' applied to '(Widget, int)'"),
    ("self.spec.names == [1]", "found no matching overload for '_==_' applied to '(list(string), list(int))'"),
    ("self.labels[1]", "found no matching overload for '_[_]' applied to '(map(string, string), int)'"),
    ("'a'.charAt('b')", "found no matching overload for 'charAt' applied to 'string.(string)'"),
    ("size(1)", "found no matching overload for 'size' applied to '(int)'"),
    ("i in self.spec.names", "found no matching overload for '@in' applied to '(int, list(string))'"),
    ("!i", "found no matching overload for '!_' applied to '(int)'"),
    ("i ? 1 : 2", "found no matching overload for '_?_:_' applied to '(int, int, int)'"),
    ("unknown(1)", "undeclared reference to 'unknown' (in container '')"),
    ("i.unknown()", "undeclared reference to 'unknown' (in container '')"),
    ("i.all(x, true)", "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"),
    ("[1].all(x, 1)", "expected type 'bool' but found 'int'"),
    ("[1, 'a']", "expected type 'int' but found 'string'"),
    ("{'a': 1, 'b': true}", "expected type 'int' but found 'bool'"),
    ("'a'.matches('(')", "invalid matches argument: error parsing regexp: missing closing ): `(`"),
    ("duration('1x')", 'invalid duration argument: invalid duration "1x"'),
    ("timestamp('today')", 'invalid timestamp argument: invalid timestamp "today": expected RFC 3339'),
    ("has(i)", "invalid argument to has() macro"),
    ("[1].all(a.b, true)", "argument must be a simple name"),
    ("[1].all(k, k, true)", "duplicate variable name: k"),
    ("Widget{spec: 1}", "undeclared reference to 'Widget' (in container '')"),
    ("1 +", "Syntax error: mismatched input '<EOF>' expecting an expression"),
    ("[1, 2", "Syntax error: mismatched input '<EOF>' expecting ']'"),
    ("i @ 1", "Syntax error: token recognition error at: '@'"),
    ("package", "reserved identifier: package"),
]


@pytest.mark.parametrize(("text", "message"), MESSAGES)
def test_an_issue_is_reported_in_the_words_of_kubernetes(text: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        ENVIRONMENT.compile(text)
    assert [issue.text for issue in caught.value.issues] == [message]


def test_a_message_shows_the_place() -> None:
    with pytest.raises(CompileError) as caught:
        ENVIRONMENT.compile("true &&\n  x == 1")
    assert str(caught.value) == (
        "ERROR: <input>:2:3: undeclared reference to 'x' (in container '')\n |   x == 1\n | ..^"
    )


def test_all_independent_issues_are_reported_at_once() -> None:
    with pytest.raises(CompileError) as caught:
        ENVIRONMENT.compile("x == 1 && self.y == 2 && i == 'a'")
    assert len(caught.value.issues) == 3


def test_literals_may_mix_types_where_the_host_allows_it() -> None:
    environment = Environment({}, homogeneous_literals=False)
    assert environment.compile("[1, 'a']").evaluate({}) == [1, "a"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("self.spec.replicas", "int"),
        ("self.spec.names.map(n, n.size())", "list(int)"),
        ("self.labels", "map(string, string)"),
        ("self.?spec.?replicas", "optional_type(int)"),
        ("self.any.thing", "dyn"),
        ("[]", "list(dyn)"),
        ("[] + [1]", "list(int)"),
        ("true ? self.any : 1", "dyn"),
        ("{'a': [1]}.map(k, k)", "list(string)"),
        ("self.labels.transformMap(k, v, v.size())", "map(string, int)"),
        ("optional.of(1).optMap(v, string(v))", "optional_type(string)"),
        ("self.spec.names.max()", "string"),
        ("type(1)", "type(int)"),
    ],
)
def test_the_type_of_a_program_is_known(text: str, wanted: str) -> None:
    assert str(ENVIRONMENT.compile(text).type) == wanted


def test_a_program_knows_the_variables_it_uses() -> None:
    environment = Environment({"self": WIDGET, "oldSelf": WIDGET, "i": INT})
    assert environment.compile("self.spec == oldSelf.spec").uses == {"self", "oldSelf"}
    assert environment.compile("[1].all(oldSelf, oldSelf > 0)").uses == set()


@pytest.mark.parametrize(
    "text",
    [
        "(" * 500 + "1" + ")" * 500,
        "[" * 500 + "]" * 500,
        "!" * 500 + "true",
        "-" * 500 + "i",
        "i" + " + i" * 500,
        "self" + ".any" * 500,
        "i" + "[0]" * 500,
        "true ? 1 : " * 500 + "1",
        "[1].all(a, " * 200 + "true" + ")" * 200,
    ],
)
def test_an_expression_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(CompileError, match="nested too deeply"):
        ENVIRONMENT.compile(text)


def test_a_long_chain_of_conditions_is_not_deep() -> None:
    assert ENVIRONMENT.compile(" && ".join(["i > 0"] * 1000)).evaluate({"i": 1}) is True


def test_an_expression_that_is_too_long_is_refused() -> None:
    with pytest.raises(CompileError, match="exceeds limit"):
        ENVIRONMENT.compile("1" + " " * 100_001)


def test_an_undeclared_name_is_an_attribute_of_the_complaint() -> None:
    with pytest.raises(CompileError) as refused:
        Environment({}).compile("authorizer.path('/') == 'undeclared'")
    assert refused.value.issues[0].undeclared == "authorizer"
