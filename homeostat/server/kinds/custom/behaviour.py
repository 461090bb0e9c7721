"""The behaviour of a custom kind: validates, sets defaults and prunes by its schema, in a thread if that takes long."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from homeostat.objects.errors import Cause
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.schema.default import MOST_ADDED, ManyDefaultsError, apply_defaults
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.prune import prune, unknown_fields
from homeostat.objects.schema.schema import Schema
from homeostat.server.kinds.builtin import text_at
from homeostat.server.request.too_long import TooLongError, is_offloaded

if TYPE_CHECKING:
    from homeostat.objects.schema.rules.evaluate import Rules
    from homeostat.objects.schema.validate import Validator

_SLOW_TO_COMPILE_BYTES = 16 * 1024
_SLOW_BYTES = 1024 * 1024
_QUICK_DEFAULTS = 10_000
"""The most values that defaults add on the event loop."""
_QUICK_STEPS = 20_000
"""The most steps of a validation on the event loop: some tens of milliseconds."""
_QUICK_COST = 30_000
"""The cost of rules that may run on the event loop: 3 to 6 ms, or 20 if they compare lists of lists."""
_VALIDATION, _RULES = "validation", "rules"
_imported: set[str] = set()
"""The engines whose import has ended. `sys.modules` has a module before, and whoever imports it then waits."""


class CustomBehaviour:
    """The behaviour of one version of a custom kind; everything is compiled when first needed.

    The engines of schemas and of rules are imported then, too: an idle plane has no use for them. That takes some tens
    of milliseconds, so the first write of a custom kind is carried out in a thread.
    """

    claims_names = False

    def __init__(self, raw_schema: JsonObject, selectable: tuple[str, ...]) -> None:
        self._raw = raw_schema
        self.selectable_fields = frozenset(path.removeprefix(".") for path in selectable)
        self._is_compiled = False

    @property
    def is_slow(self) -> bool:
        return self._size >= _SLOW_BYTES or (not self._is_compiled and self._size >= _SLOW_TO_COMPILE_BYTES)

    @cached_property
    def _size(self) -> int:
        return len(encode(self._raw))

    @cached_property
    def schema(self) -> Schema:
        return schema_of(self._raw)

    @cached_property
    def _validator(self) -> Validator:
        from homeostat.objects.schema.validate import Validator

        _imported.add(_VALIDATION)
        return Validator(self.schema)

    @cached_property
    def _has_rules(self) -> bool:
        return b'"x-kubernetes-validations":' in encode(self._raw)

    @cached_property
    def _rules(self) -> Rules | None:
        if not self._has_rules:
            return None
        from homeostat.objects.schema.rules.evaluate import Rules

        _imported.add(_RULES)
        return Rules(self.schema)

    def release(self, writer: int) -> None:
        pass

    def type_errors(self, obj: JsonObject) -> list[Cause]:
        return []

    def unknown_fields(self, obj: JsonObject) -> list[str]:
        return unknown_fields(obj, self.schema)

    def prune(self, obj: JsonObject, *, is_applied: bool = False) -> list[str]:
        return prune(obj, self.schema, keeps_nulls=is_applied)

    def default(self, obj: JsonObject) -> None:
        """`TooLongError` if there are so many defaults that adding them would block the event loop."""
        if is_offloaded():
            apply_defaults(obj, self.schema)
            return
        try:
            apply_defaults(obj, self.schema, most=_QUICK_DEFAULTS)
        except ManyDefaultsError as error:
            raise TooLongError from error

    def default_stored(self, obj: JsonObject) -> bool:
        try:
            apply_defaults(obj, self.schema, most=MOST_ADDED if is_offloaded() else _QUICK_DEFAULTS)
        except ManyDefaultsError:
            return False
        return True

    def prepare(self, obj: JsonObject, old: JsonObject | None, now: str, *, writer: int = 0) -> None:
        pass

    def prepare_deletion(self, obj: JsonObject, now: str) -> None:
        pass

    def check(self, obj: JsonObject) -> list[Cause]:
        is_large = self._is_offloaded(obj)
        return self._validator.check(obj, is_large=is_large)

    def check_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        is_large = self._is_offloaded(new)
        return self._validator.check_update(new, old, is_large=is_large)

    def _is_offloaded(self, obj: JsonObject) -> bool:
        """`TooLongError` if validating the object would block the event loop."""
        if is_offloaded():
            return True
        if _VALIDATION not in _imported or self._validator.cost_of(obj) > _QUICK_STEPS:
            raise TooLongError
        return False

    def warnings(self, obj: JsonObject, old: JsonObject | None) -> list[str]:
        return []

    def check_rules(self, new: JsonObject, old: JsonObject | None) -> list[Cause]:
        """`TooLongError` if the rules cost more than may run on the event loop."""
        if _RULES not in _imported and self._has_rules and not is_offloaded():
            raise TooLongError
        causes = [] if self._rules is None else self._check_rules(self._rules, new, old)
        self._is_compiled = True
        return causes

    def _check_rules(self, rules: Rules, new: JsonObject, old: JsonObject | None) -> list[Cause]:
        from homeostat.cel import Budget

        budget = Budget() if is_offloaded() else Budget(_QUICK_COST)
        causes = rules.check(new, old, budget)
        if budget.remaining <= 0 and not is_offloaded():
            raise TooLongError
        return causes

    def selectable(self, obj: JsonObject) -> dict[str, str]:
        return {name: text_at(obj, name) for name in self.selectable_fields}
