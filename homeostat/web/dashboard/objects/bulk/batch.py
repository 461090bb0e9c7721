"""Sends a change for each selected object, some at once, and says of each what the server answered.

A batch takes a bounded time: what was not sent by then is said to be so. Between requests, the client lets others run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.edge.turn import map_concurrently
from homeostat.objects.errors import ApiError, ConflictError, InvalidError, NotFoundError
from homeostat.objects.kind import Kind
from homeostat.web.dashboard.objects.bulk.operation import Change
from homeostat.web.dashboard.objects.bulk.selection import Selected

WITHIN_S: Final = 60.0
_AT_ONCE: Final = 8
_REPLACED: Final = "Another object has this name now. Select it again."


class _Metadata(msgspec.Struct, frozen=True):
    annotations: dict[str, str] | None = None


class _Answer(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


_read: Final = msgspec.json.Decoder(_Answer).decode


class Result(NamedTuple):
    """`problem` is empty for what was done, or would be."""

    selected: Selected
    problem: str = ""


async def carry_out(
    client: Client, kind: Kind, change: Change, selected: Sequence[Selected], *, is_dry: bool
) -> list[Result]:
    clock = asyncio.get_running_loop().time
    until = clock() + WITHIN_S

    async def one(each: Selected) -> Result:
        if clock() >= until:
            return Result(each, f"It was not sent: the server took more than {WITHIN_S:g} s for the others.")
        return Result(each, await _problem(client, kind, change, each, is_dry=is_dry))

    return await map_concurrently(one, selected, at_once=_AT_ONCE)


async def _problem(client: Client, kind: Kind, change: Change, each: Selected, *, is_dry: bool) -> str:
    try:
        annotations = await _send(client, kind, change, each, is_dry=is_dry)
    except NotFoundError:
        return "It no longer exists."
    except ConflictError as error:
        return f"Another object has this name now, or it changes all the time. Select it again: {error.message}"
    except InvalidError as error:
        # The answer of kube-apiserver to a patch with another uid.
        return _REPLACED if any(cause.field == "metadata.uid" for cause in error.causes) else error.message
    except ApiError as error:
        return error.message
    except UnreachableError:
        unknown = "" if is_dry else " Whether it was changed is unknown."
        return f"The control plane cannot be reached.{unknown}"
    return change.obstacle(annotations)


async def _send(client: Client, kind: Kind, change: Change, each: Selected, *, is_dry: bool) -> Mapping[str, str]:
    """The annotations of the object in the answer, which may be large."""
    sent = change.sent(each.uid, is_dry=is_dry)
    path = kind.path(each.namespace, each.name)
    answer = await client.fetch(sent.method, path, sent.query, body=sent.body, content_type=sent.content_type)
    try:
        return _read(answer).metadata.annotations or {}
    except msgspec.DecodeError as error:
        raise UnreachableError(f"{path}: the server sent something that is not an object: {error}") from error
