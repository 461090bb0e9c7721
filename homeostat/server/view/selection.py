"""Which objects a list or watch selects: a scope of the store, and label and field selectors within it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from homeostat.edge.threads import in_thread
from homeostat.objects.errors import BadRequestError
from homeostat.objects.selectors import FieldTerm, LabelSelector, parse_fields, parse_labels
from homeostat.server.kinds.registry import Kind
from homeostat.server.request.call import Call
from homeostat.server.view.encode import note_of, object_of
from homeostat.store.base import Event, Record, Scope

Test = Callable[[Record], bool]
_MANY_TESTS = 10_000
"""Labels that nobody has read yet take some microseconds an object."""
_MANY_BYTES = 512 * 1024
"""Of objects that nobody has read yet: the larger they are, the longer it takes to find their labels or fields."""


class Selection:
    """Selects the records for which all `tests` hold; without tests, the whole scope."""

    def __init__(self, scope: Scope, tests: Sequence[Test], *, terms: int = 0, reads_fields: bool = False) -> None:
        self.scope = scope
        self._reads_fields = reads_fields
        self.is_all = not tests
        self._tests = tuple(tests)
        self._terms = terms

    def matches(self, record: Record) -> bool:
        return all(test(record) for test in self._tests)

    async def pick(self, records: Sequence[Record], user: str = "") -> Sequence[Record]:
        """The records that match; many records or terms, and large records, are tested in a thread."""
        if self.is_all or (len(records) * self._terms < _MANY_TESTS and self._unread(records) < _MANY_BYTES):
            return self.filter(records)
        return await in_thread(lambda: self.filter(records), user=user)

    def _unread(self, records: Sequence[Record]) -> int:
        """The bytes of the records whose labels or fields are not known yet."""
        if self._reads_fields:
            return sum([len(each.value) for each in records if each.note is None or each.note.fields is None])
        return sum([len(each.value) for each in records if each.note is None])

    def filter(self, records: Sequence[Record]) -> Sequence[Record]:
        for test in self._tests:
            records = [record for record in records if test(record)]
        return records

    def change(self, event: Event) -> Literal["ADDED", "MODIFIED", "DELETED"] | None:
        """The type of an event for a watch of this selection: a change may move an object into or out of it."""
        was_in = event.previous is not None and self.matches(event.previous)
        if event.type == "DELETED":
            return "DELETED" if was_in else None
        if self.matches(event.record):
            return "MODIFIED" if was_in else "ADDED"
        return "DELETED" if was_in else None


def selection_of(call: Call) -> Selection:
    scope = call.scope
    tests: list[Test] = []
    terms, reads_fields = 0, False
    for term in parse_fields(call.options.field_selector) if call.options.field_selector else ():
        scope, test = _narrowed(call.kind, scope, term)
        if test is not None:
            tests.append(test)
            reads_fields = reads_fields or term.field in call.kind.behaviour.selectable_fields
    if call.options.label_selector:
        selector = parse_labels(call.options.label_selector)
        if selector:
            tests.append(_by_labels(selector))
            terms += len(selector.requirements)
    return Selection(scope, tests, terms=terms + len(tests), reads_fields=reads_fields)


def _by_labels(selector: LabelSelector) -> Test:
    matches = selector.matches
    return lambda record: matches((record.note or note_of(record)).labels)


def _narrowed(kind: Kind, scope: Scope, term: FieldTerm) -> tuple[Scope, Test | None]:
    """A term on the name or namespace narrows the scope if possible; any other term becomes a test."""
    is_wanted = term.equal
    value = term.value
    match term.field:
        case "metadata.name":
            if is_wanted and not scope.name and (scope.namespace or not kind.namespaced) and value:
                return scope._replace(name=value), None
            return scope, lambda record: (record.key.name == value) is is_wanted
        case "metadata.namespace" if _has_namespace_field(kind):
            if is_wanted and not scope.namespace and value and kind.namespaced:
                return scope._replace(namespace=value), None
            return scope, lambda record: (record.key.namespace == value) is is_wanted
        case field if field in kind.behaviour.selectable_fields:
            return scope, lambda record: (_fields(kind, record).get(field, "") == value) is is_wanted
    common = {"metadata.name", "metadata.namespace"} if _has_namespace_field(kind) else {"metadata.name"}
    known = ", ".join(sorted({*common, *kind.behaviour.selectable_fields}))
    raise BadRequestError(f'field label not supported: "{term.field}"; {kind.group_resource} have: {known}')


def _has_namespace_field(kind: Kind) -> bool:
    """Of what has no namespace, Kubernetes refuses it for custom kinds and those with fields of their own."""
    return kind.namespaced or not (kind.custom or kind.behaviour.selectable_fields)


def _fields(kind: Kind, record: Record) -> dict[str, str]:
    note = note_of(record)
    cached = note.fields
    if cached is None or cached[0] is not kind:
        cached = note.fields = (kind, kind.behaviour.selectable(object_of(kind, record)))
    return cached[1]
