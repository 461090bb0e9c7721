"""Checks the `plugin_config` of a resource before it is written: its fields, and the Secrets that it names.

The operator checks the fields again. It cannot check the Secrets: it reads them with its own permissions, whoever wrote
the resource. So a caller may name only Secrets that they are allowed to read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from homeostat.objects.json import Json
from homeostat.operators.actions.plugins.catalog import UnknownPluginError
from homeostat.web.actions.face import Face
from homeostat.web.actions.forms import Declaration
from homeostat.web.actions.index.entry import TypeEntry
from homeostat.web.kit.gate import Caller
from homeostat.web.kit.refusal import RefusalError, forbidden

if TYPE_CHECKING:
    from homeostat.operators.actions.plugins.plugin import ActionError

_WORDS: Final = (
    ("action.plugin:", "action_plugin:"),
    ("action.config.", "plugin_config."),
    ("spec.resourceFields", "resource_fields"),
)


async def check_plugin_config(
    face: Face, caller: Caller, resource_type: TypeEntry, wanted: Declaration, *, plugin: str = ""
) -> None:
    """`plugin` is the one that the resource has already, if any. Raises `RefusalError`: 400 or 403."""
    if not (wanted.plugin_config or wanted.action_plugin):
        return
    from homeostat.operators.actions.plugins.plugin import ActionError
    from homeostat.operators.actions.runs.jobs import check_own_fields, check_own_plugin, renamed

    spec = resource_type.spec
    try:
        check_own_plugin(wanted.action_plugin or "", spec.action.plugin, spec.resource_fields)
    except ActionError as error:
        raise _refusal(error) from error
    name = wanted.action_plugin or plugin or spec.action.plugin or await face.claim_on(resource_type)
    try:
        found = (await face.plugins.known()).actions.get(name)
    except UnknownPluginError:
        return
    own = renamed(found, wanted.plugin_config or {})
    usual = renamed(found, spec.action.config) if name == spec.action.plugin else {}
    try:
        check_own_fields(found, own, spec.resource_fields, usual=usual)
    except ActionError as error:
        raise _refusal(error) from error
    for secret in sorted(set(_secrets_named(own))):
        if not await caller.may_read_secret(secret):
            raise forbidden(f'{caller.username} is not allowed to read the Secret "{secret}" that plugin_config names')


def _refusal(error: ActionError) -> RefusalError:
    """In the words of the REST API."""
    text = str(error)
    for ours, theirs in _WORDS:
        text = text.replace(ours, theirs, 1)
    return RefusalError(400, text)


def _secrets_named(value: Json) -> Iterator[str]:
    """The names of Secrets in references such as `{"store": "secret", "key": "name/key"}`."""
    from homeostat.external.secrets.secrets import NAMESPACED

    if isinstance(value, dict):
        if value.get("store") == NAMESPACED and isinstance(value.get("key"), str):
            yield value["key"].partition("/")[0]
        for each in value.values():
            yield from _secrets_named(each)
    elif isinstance(value, list):
        for each in value:
            yield from _secrets_named(each)
