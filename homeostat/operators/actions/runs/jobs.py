"""From a resource to a plugin's job: which plugin, with which configuration; and where plugins are called, all of them.

A resource's own configuration lies over its type's, field by field, where both are for the same plugin. Whoever may
write a resource is not trusted like whoever may write its type: fields that a plugin reserves for types, secrets that
are not of the resource's own namespace, and addresses that others' credentials would be sent to, are refused there.
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

Told = TypeVar("Told", bound="Plan | Outcome | Underway | Lost")
_ANYTHING = (Plan, Outcome, Underway, Lost)
_EXPECTED = (SecretError, RestError, ProcessError, UnknownPluginError)
_LONGEST_MESSAGE = 2048
LARGEST_OUTPUTS = 256 << 10
MOST_CONDITIONS = 20


class Effective(NamedTuple):
    """What counts for a resource: the plugin's name and its configuration."""

    plugin: str
    config: JsonObject


def effective_action(resource: Resource, default: ActionReference, *, claimed: str = "") -> Effective:
    """`claimed` is the plugin that claims the type: what neither the resource nor its type gives away is its own."""
    own, usual = resource.action or ActionReference(), default.plugin or claimed
    if not own.plugin or own.plugin == usual:
        return Effective(usual, {**default.config, **own.config})
    return Effective(own.plugin, own.config)


def read_config(plugin: Plugin[Any], config: JsonObject, own: JsonObject) -> msgspec.Struct:
    """The configuration in the plugin's own type; `own` is the part that the resource itself gives."""
    if reserved := sorted(getattr(plugin, "type_only", frozenset()) & own.keys()):
        raise ActionError("InvalidConfig", f"action.config.{reserved[0]}: only the resource type may set it")
    _check_addresses(plugin, config, own)
    try:
        read: msgspec.Struct = msgspec.convert(config, plugin.config)
    except msgspec.ValidationError as error:
        raise ActionError("InvalidConfig", f"action.config: {error}") from error
    for field in msgspec.structs.fields(plugin.config) if own else ():
        if field.encode_name in own and (stores := stores_named(getattr(read, field.name)) - {NAMESPACED}):
            told = f'only the resource type may use secrets of the store "{min(stores)}"; use the store "secret"'
            raise ActionError("InvalidConfig", f"action.config.{field.encode_name}: {told}")
    return read


def _check_addresses(plugin: Plugin[Any], config: JsonObject, own: JsonObject) -> None:
    """What the type or the operator proves itself with goes where they say, and nowhere else."""
    theirs = {name for name, value in config.items() if value and name not in own}
    moved = sorted(getattr(plugin, "addresses", frozenset()) & own.keys())
    if moved and (sent := sorted(getattr(plugin, "credentials", frozenset()) & theirs)):
        told = (
            f'only the resource type may set it, because the resource does not own the "{sent[0]}" that '
            f"would be sent there"
        )
        raise ActionError("InvalidConfig", f"action.config.{moved[0]}: {told}")


async def called(
    secrets: Secrets, plugin: str, call: Awaitable[Told], shapes: tuple[type, ...] = _ANYTHING
) -> Told | Fault:
    """What the plugin says, without secrets. Its errors end here: their texts are its own, and may hold anything."""
    try:
        told = await call
        if not isinstance(told, shapes):
            raise TypeError(f"the plugin returned a {type(told).__name__}")
        return _scrubbed(told, secrets)
    except Wait as wait:
        raise Wait(wait.reason, wait.after, message=secrets.scrub(str(wait))) from None
    except ActionError as error:
        return Fault(error.reason, _message(error, secrets), is_certain=True)
    except _EXPECTED as error:
        return Fault(error.reason, _message(error, secrets))
    except Exception as error:
        text = _message(error, secrets)
        log.error("action plugin failed", extra={"plugin": plugin, "error": type(error).__name__, "told": text})
        return Fault("PluginBroke", f"{type(error).__name__}: {text}")


def _message(error: Exception, secrets: Secrets) -> str:
    return shortened(secrets.scrub(str(error)) or type(error).__name__, _LONGEST_MESSAGE)


def _scrubbed(told: Told, secrets: Secrets) -> Told:
    match told:
        case Plan():
            outputs = secrets.scrub_json(told.outputs) if told.outputs else {}
            if len(encode(outputs)) > LARGEST_OUTPUTS:
                outputs = {}
            return msgspec.structs.replace(told, output=shortened(secrets.scrub(told.output)), outputs=outputs)
        case Outcome():
            # Before it is cut: half a secret could not be recognised.
            clean = msgspec.convert(secrets.scrub_json(msgspec.to_builtins(told)), Outcome)
            return _bounded(clean)  # type: ignore[return-value]
        case Underway():
            return msgspec.structs.replace(told, handle=secrets.scrub_json(told.handle))
        case _:
            return told


def _bounded(outcome: Outcome) -> Outcome:
    """What is done is done: an outcome that is too large for a status loses its outputs and not its success."""
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
