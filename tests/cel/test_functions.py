"""A host adds functions and types of its own."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from homeostat.cel import DYN, STRING, CompileError, Environment, Opaque, OpaqueType, function, member


@dataclass(frozen=True, slots=True)
class Check(Opaque):
    group: str
    cel_type_name = "kubernetes.authorization.Authorizer"


FUNCTIONS = (
    member(
        "kubernetes.authorization.Authorizer.group(string) -> kubernetes.authorization.Authorizer",
        lambda _, name: Check(name),
    ),
    member("kubernetes.authorization.Authorizer.allowed() -> bool", lambda check: check.group == "apps"),
    function("double(string, int) -> string", lambda text, count: text * count, lambda _, count: count),
)
AUTHORIZER = OpaqueType("kubernetes.authorization.Authorizer")


def test_a_host_function_is_called_on_a_host_value() -> None:
    environment = Environment({"authorizer": AUTHORIZER, "g": STRING}, FUNCTIONS)
    program = environment.compile("authorizer.group(g).allowed()")
    assert program.evaluate({"authorizer": Check(""), "g": "apps"}) is True
    assert program.evaluate({"authorizer": Check(""), "g": "batch"}) is False


def test_a_host_function_adds_an_overload_to_a_standard_one() -> None:
    environment = Environment({"x": DYN}, FUNCTIONS)
    assert environment.compile("double('a', 3)").evaluate({}) == "aaa"
    assert environment.compile("double('1.5')").evaluate({}) == 1.5


def test_a_host_value_found_by_its_class_where_the_type_is_unknown() -> None:
    environment = Environment({"x": DYN}, FUNCTIONS)
    assert environment.compile("x.group('apps').allowed()").evaluate({"x": Check("")}) is True


def test_a_function_is_known_only_where_it_was_added() -> None:
    with pytest.raises(CompileError, match="undeclared reference to 'allowed'"):
        Environment({"authorizer": AUTHORIZER}).compile("authorizer.allowed()")
