"""The request to a webhook and its answer. Pure.

An answer is JSON: {allowed, message, patches[]}. Without `allowed` the write is denied.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from homeostat.external.rest.request import Response
from homeostat.objects.json import JsonObject, encode
from homeostat.web.actions.webhooks.api import RestWebhookSpec
from homeostat.web.actions.webhooks.patches import Patch

_LONGEST_MESSAGE = 2048
_MOST_PATCHES = 1000
_FIELDS = ("name", "resource_type_name", "resource_type_version", "spec")


class NoAnswerError(Exception):
    """The webhook failed; its failure policy decides what follows."""


class Verdict(msgspec.Struct, frozen=True):
    is_allowed: bool = msgspec.field(name="allowed", default=False)
    message: str | None = None
    patches: Annotated[list[Patch], Meta(max_length=_MOST_PATCHES)] | None = None

    def denial(self, hook: RestWebhookSpec) -> str:
        return (self.message or f"Denied by {hook.type} webhook {hook.name}")[:_LONGEST_MESSAGE]


_verdict = msgspec.json.Decoder(Verdict)


def question(operation: str, resource: JsonObject, old: JsonObject | None) -> bytes:
    return encode({"operation": operation, "resource": _shown(resource), "old_resource": old and _shown(old)})


def _shown(resource: JsonObject) -> JsonObject:
    """Webhooks get these fields only: the configuration of a plugin may contain credentials."""
    return {name: resource[name] for name in _FIELDS}


def read_answer(answer: Response) -> Verdict:
    """A 4xx response with a JSON body is an answer too."""
    if answer.status >= 500 or 300 <= answer.status < 400:
        raise NoAnswerError(f"the webhook returned HTTP {answer.status}")
    try:
        return _verdict.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NoAnswerError(f"the response is invalid: {error}") from error


def concerns(hook: RestWebhookSpec, operation: str, resource: JsonObject) -> bool:
    return (
        operation in hook.operations
        and hook.resource_type in ("", resource["resource_type_name"])
        and hook.resource_version in ("", resource["resource_type_version"])
    )
