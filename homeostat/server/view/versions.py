"""The `resourceVersion` of reads: what it requests, and waiting until the store has that revision."""

from __future__ import annotations

import asyncio

from homeostat.objects.errors import (
    BadRequestError,
    Cause,
    TimedOutError,
    forbidden,
    invalid_object,
    unsupported,
)
from homeostat.server.request.call import Call
from homeostat.server.request.options import MATCHES
from homeostat.store.base import FutureRevisionError

FRESHNESS_WAIT_S = 3.0


def version_number(text: str) -> int:
    """A `resourceVersion` as a number; empty is 0. `BadRequestError` for anything else."""
    if not text:
        return 0
    if not text.isascii() or not text.isdecimal() or len(text) > 19:
        raise BadRequestError(f"Invalid value for resourceVersion: {text[:60]!r}: it must be a decimal number")
    return int(text)


async def await_version(call: Call) -> None:
    """Wait until the store is as recent as the call requires: the newest (""), any ("0"), or a number."""
    asked = call.options.resource_version
    if not asked:
        await call.store.sync()
    elif asked != "0":
        await reach(call, version_number(asked))


async def reach(call: Call, revision: int) -> None:
    if revision <= call.store.revision:
        return
    # A timeout needs a task, and a call that has not waited yet may have none.
    await asyncio.sleep(0)
    try:
        await call.store.reach(revision, timeout_s=FRESHNESS_WAIT_S)
    except FutureRevisionError as error:
        raise too_large(error.requested, error.current) from error


def too_large(asked: int, current: int) -> TimedOutError:
    return TimedOutError(
        f"Too large resource version: {asked}, current: {current}",
        causes=[Cause("ResourceVersionTooLarge", "Too large resource version")],
        retry_after_s=1,
    )


def refuse_wrong_match(call: Call) -> None:
    """Check `resourceVersionMatch`: not without a version, not with `continue`, not for plain watches."""
    options = call.options
    match = options.resource_version_match
    causes = []
    if match and not options.watch:
        if not options.resource_version:
            causes.append(
                forbidden(
                    "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"
                )
            )
        if options.continue_token:
            causes.append(_continued())
        if match == "Exact" and options.resource_version == "0":
            causes.append(
                forbidden("resourceVersionMatch", 'resourceVersionMatch "Exact" is forbidden for resourceVersion "0"')
            )
    if match and match not in MATCHES:
        causes.append(unsupported("resourceVersionMatch", match, (*MATCHES, "")))
    if options.watch:
        causes += _watch_causes(call)
    elif options.send_initial_events is not None:
        causes.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if causes:
        raise invalid_object("ListOptions", "meta.k8s.io", "", causes)


def _watch_causes(call: Call) -> list[Cause]:
    options = call.options
    match = options.resource_version_match
    causes = []
    if options.send_initial_events is not None and match != "NotOlderThan":
        causes.append(
            forbidden(
                "resourceVersionMatch", 'sendInitialEvents requires setting resourceVersionMatch to "NotOlderThan"'
            )
        )
    if match and options.send_initial_events is None:
        causes.append(
            forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )
        )
    if match == "Exact":
        causes.append(unsupported("resourceVersionMatch", match, ("NotOlderThan",)))
    # Kubernetes sets the match of a watch that begins with all objects.
    if options.continue_token and (match or not options.resource_version):
        causes.append(_continued())
    return causes


def _continued() -> Cause:
    return forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")
