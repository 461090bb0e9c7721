"""The permissions that an operator declares as `RULES` in its module, checked against the shape of a role's rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.catalog import UnknownOperatorError

if TYPE_CHECKING:
    from homeostat.runtime.setup import OperatorModule

_EXAMPLE = 'role_rule("", ["configmaps"], ["get", "list", "watch", "create", "patch"])'
_Texts = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]


class _Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    verbs: _Texts
    api_groups: _Texts | None = None
    resources: _Texts | None = None
    resource_names: _Texts | None = None
    non_resource_urls: _Texts | None = msgspec.field(default=None, name="nonResourceURLs")

    def __post_init__(self) -> None:
        if self.non_resource_urls is None and (self.api_groups is None or self.resources is None):
            raise ValueError("a rule needs apiGroups and resources, or nonResourceURLs")


def rules_of(name: str, module: OperatorModule) -> list[JsonObject]:
    """The rules of a role; `UnknownOperatorError` if the module declares none, or invalid ones."""
    rules: Any = getattr(module, "RULES", None)
    if rules is None:
        raise UnknownOperatorError(
            f'operator "{name}" does not declare its permissions; add RULES to its module, for example: '
            f"RULES = {_example(module)} (from homeostat.sdk import control_rules, role_rule)"
        )
    try:
        msgspec.convert(rules, list[_Rule])
    except msgspec.ValidationError as error:
        problem = str(error).replace("`$", "`RULES")
        raise UnknownOperatorError(
            f'operator "{name}" declares invalid RULES: {problem}; make a rule with {_EXAMPLE} from homeostat.sdk'
        ) from error
    return list(rules)


def _example(module: OperatorModule) -> str:
    return f"[*control_rules(KINDS[0].kind), {_EXAMPLE}]" if module.KINDS else f"[{_EXAMPLE}]"
