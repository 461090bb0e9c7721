"""How public names are called, as the reference writes it: parameters without types, plain defaults as they are."""

from __future__ import annotations

import inspect
from functools import reduce
from importlib import import_module
from inspect import Parameter

_PLAIN = (bool, float, int, str, type(None))
_STARS: dict[object, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}


def look_up(module: str, name: str) -> object:
    """What `Setup.run` is in the module; `AttributeError` where there is no such thing."""
    found: object = reduce(getattr, name.split("."), import_module(module))
    return found


def signature_of(module: str, name: str) -> str:
    """`Setup.run(job)` of `Setup.run`; a class by how it is made."""
    found = look_up(module, name)
    assert callable(found), f"{module}.{name} cannot be called"
    parameters = [each for each in inspect.signature(found).parameters.values() if each.name != "self"]
    return f"{name}({', '.join(_written(parameters))})"


def _written(parameters: list[Parameter]) -> list[str]:
    words = []
    has_star = False
    for each in parameters:
        if each.kind is Parameter.KEYWORD_ONLY and not has_star:
            words.append("*")
        has_star = each.kind in {Parameter.VAR_POSITIONAL, Parameter.KEYWORD_ONLY}
        words.append(_parameter(each))
    return words


def _parameter(parameter: Parameter) -> str:
    default = parameter.default
    if default is Parameter.empty:
        return f"{_STARS.get(parameter.kind, '')}{parameter.name}"
    told = f'"{default}"' if isinstance(default, str) else repr(default)
    return f"{parameter.name}={told if isinstance(default, _PLAIN) else '...'}"
