"""What a template of an operation may refer to, and its rendering. Pure.

Fields of the payload come before the variables. `id` is the identity on the server, unless the payload has a field of
that name. A value that is missing or no scalar is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.payload.format import JSON, Descriptor
from homeostat.operators.sync.engine.payload.value import text_of
from homeostat.operators.sync.engine.templates.expression import evaluate, parse


@dataclass(frozen=True, slots=True)
class Scope:
    variables: Mapping[str, Json] = field(default_factory=dict)
    payload: Json = None
    form: Descriptor = JSON

    def lookup(self, at: str) -> str | None:
        match at:
            case "payload_type":
                return self.form.type
            case "payload_media_type":
                return self.form.media
            case "payload_extension":
                return self.form.extension
        found = self.value(at)
        return None if found is pointer.MISSING else text_of(found)

    def value(self, at: str) -> Json:
        found = pointer.get(self.payload, at) if isinstance(self.payload, dict) else pointer.MISSING
        if found is not pointer.MISSING and found is not None:
            return found
        return pointer.get(self.variables, at)


def render(template: str, scope: Scope) -> str:
    if "{{" not in template:
        return template
    return "".join(each if isinstance(each, str) else evaluate(each, scope.lookup) for each in parse(template))


def render_value(value: Json, scope: Scope) -> Json:
    """A copy with every text rendered."""
    match value:
        case str():
            return render(value, scope)
        case dict():
            return {key: render_value(item, scope) for key, item in value.items()}
        case list():
            return [render_value(item, scope) for item in value]
        case _:
            return value
