"""Which plugin reconciles a resource, with which configuration; and the one place that calls plugins.

The configuration of a resource overrides that of its type, field by field, if both are for the same plugin. An author
of resources is trusted less than an author of types: a resource may not set fields that the plugin reserves for types,
use secrets outside its own namespace, or change the address that credentials of its type are sent to.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Any, NamedTuple, TypeVar

import msgspec

from homeostat.external.process import ProcessError
from homeostat.external.rest.errors import RestError
from homeostat.external.secrets.secrets import NAMESPACED, SecretError, Secrets, stores_named
from homeostat.objects.decision import Wait
from homeostat.objects.json import JsonObject, encode
from homeostat.operators.actions.api import ActionReference, Resource
from homeostat.operators.actions.conditions import is_sound_condition
from homeostat.operators.actions.plugins.catalog import UnknownPluginError
from homeostat.operators.actions.plugins.plugin import ActionError, Plugin
from homeostat.operators.actions.runs.run import Outcome, shortened
from homeostat.operators.actions.world import Fault, Lost, Plan, Underway

log = logging.getLogger(__name__)

Result = TypeVar("Result", bound="Plan | Outcome | Underway | Lost")
_ANYTHING = (Plan, Outcome, Underway, Lost)
_EXPECTED = (SecretError, RestError, ProcessError, UnknownPluginError)
_LONGEST_MESSAGE = 2048
LARGEST_OUTPUTS = 256 << 10
MOST_CONDITIONS = 20


class Effective(NamedTuple):
    """The plugin of a resource and its configuration, after the type was taken into account."""

    plugin: str
    config: JsonObject


def effective_action(resource: Resource, default: ActionReference, *, claimed: str = "") -> Effective:
    """`claimed` is the plugin that claims the type; it is used if neither the resource nor the type names a plugin."""
    own, usual = resource.action or ActionReference(), default.plugin or claimed
    if not own.plugin or own.plugin == usual:
        return Effective(usual, {**default.config, **own.config})
    return Effective(own.plugin, own.config)


def read_config(plugin: Plugin[Any], config: JsonObject, own: JsonObject) -> msgspec.Struct:
    """Decodes the configuration into the plugin's own type; `own` is the part that the resource sets."""
    if reserved := sorted(getattr(plugin, "type_only", frozenset()) & own.keys()):
        raise ActionError("InvalidConfig", f"action.config.{reserved[0]}: only the resource type may set it")
    _check_addresses(plugin, config, own)
    try:
        read: msgspec.Struct = msgspec.convert(config, plugin.config)
    except msgspec.ValidationError as error:
        raise ActionError("InvalidConfig", f"action.config: {error}") from error
    for field in msgspec.structs.fields(plugin.config) if own else ():
        if field.encode_name in own and (stores := stores_named(getattr(read, field.name)) - {NAMESPACED}):
            message = f'only the resource type may use secrets of the store "{min(stores)}"; use the store "secret"'
            raise ActionError("InvalidConfig", f"action.config.{field.encode_name}: {message}")
    return read


def _check_addresses(plugin: Plugin[Any], config: JsonObject, own: JsonObject) -> None:
    """Credentials of the type or the operator are sent only to addresses that these set."""
    theirs = {name for name, value in config.items() if value and name not in own}
    moved = sorted(getattr(plugin, "addresses", frozenset()) & own.keys())
    if moved and (sent := sorted(getattr(plugin, "credentials", frozenset()) & theirs)):
        message = (
            f'only the resource type may set it, because the resource does not own the "{sent[0]}" that '
            f"would be sent there"
        )
        raise ActionError("InvalidConfig", f"action.config.{moved[0]}: {message}")


async def called(
    secrets: Secrets, plugin: str, call: Awaitable[Result], shapes: tuple[type, ...] = _ANYTHING
) -> Result | Fault:
    """Awaits a call of the plugin and removes secrets from its result. All its errors are handled here, because their
    texts may contain anything.
    """
    try:
        message = await call
        if not isinstance(message, shapes):
            raise TypeError(f"the plugin returned a {type(message).__name__}")
        return _scrubbed(message, secrets)
    except Wait as wait:
        raise Wait(wait.reason, wait.after, message=secrets.scrub(str(wait))) from None
    except ActionError as error:
        return Fault(error.reason, _message(error, secrets), is_certain=True)
    except _EXPECTED as error:
        return Fault(error.reason, _message(error, secrets))
    except Exception as error:
        text = _message(error, secrets)
        log.error("action plugin failed", extra={"plugin": plugin, "error": type(error).__name__, "text": text})
        return Fault("PluginBroke", f"{type(error).__name__}: {text}")


def _message(error: Exception, secrets: Secrets) -> str:
    return shortened(secrets.scrub(str(error)) or type(error).__name__, _LONGEST_MESSAGE)


def _scrubbed(message: Result, secrets: Secrets) -> Result:
    match message:
        case Plan():
            outputs = secrets.scrub_json(message.outputs) if message.outputs else {}
            if len(encode(outputs)) > LARGEST_OUTPUTS:
                outputs = {}
            return msgspec.structs.replace(message, output=shortened(secrets.scrub(message.output)), outputs=outputs)
        case Outcome():
            # Secrets are removed before the text is cut: half a secret would not be recognised.
            clean = msgspec.convert(secrets.scrub_json(msgspec.to_builtins(message)), Outcome)
            return _bounded(clean)  # type: ignore[return-value]
        case Underway():
            return msgspec.structs.replace(message, handle=secrets.scrub_json(message.handle))
        case _:
            return message


def _bounded(outcome: Outcome) -> Outcome:
    """Limits the size of an outcome for the status. One that is too large loses its outputs, not its success."""
    message, outputs = outcome.message, outcome.outputs
    if len(encode(outputs)) > LARGEST_OUTPUTS:
        message, outputs = f"outputs exceed {LARGEST_OUTPUTS} bytes and were dropped; {message}", {}
    return msgspec.structs.replace(
        outcome,
        message=shortened(message, _LONGEST_MESSAGE),
        output=shortened(outcome.output),
        outputs=outputs,
        conditions=tuple(filter(is_sound_condition, outcome.conditions))[:MOST_CONDITIONS],
    )
