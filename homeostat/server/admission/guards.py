"""Checks in this process that have the last word on a write: of whoever knows more about a kind than its schema says.

Promises, each tested: a check that fails, or takes longer than its time, refuses the write and says so, and never lets
it pass; one that is expected and not there yet is waited for, and refuses if it does not come; what nobody guards pays
for one look-up.

A check is asked as the last step of admission, about objects as they are to be stored, and about no status. It may read
from this server and must not write to it. A definition that is being deleted is asked nobody: its objects have to go.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from homeostat.objects.errors import ApiError, InternalError, UnavailableError
from homeostat.objects.json import JsonObject
from homeostat.server.request.call import Call

log = logging.getLogger(__name__)

Check = Callable[[str, JsonObject | None, JsonObject | None], Awaitable[None]]
"""`check(operation, old, new)` raises the `ApiError` that refuses; operations are CREATE, UPDATE and DELETE."""
_LONGEST_S = 10.0


class Guards:
    """By the store's name of a kind, such as `deployments.apps`: the check, and whose it is."""

    def __init__(self, *, longest_s: float = _LONGEST_S) -> None:
        self.checks: dict[str, tuple[str, Check]] = {}
        self._longest_s = longest_s
        self._expected: dict[str, asyncio.Event] = {}

    def put(self, owner: str, checks: Mapping[str, Check]) -> None:
        """Instead of those that there were for the same kinds."""
        self.checks.update({resource: (owner, check) for resource, check in checks.items()})
        for resource in self._expected.keys() & checks.keys():
            self._expected.pop(resource).set()

    def expect(self, owner: str, resource: str, want: Callable[[], None] = lambda: None) -> None:
        """Until there is a check, nothing of the kind is written. `want` is called when a write waits for it."""
        arrived = asyncio.Event()

        async def wait(operation: str, old: JsonObject | None, new: JsonObject | None) -> None:
            want()
            try:
                async with asyncio.timeout(self._longest_s / 2):
                    await arrived.wait()
            except TimeoutError as error:
                told = f"{owner} checks writes of {resource} and has not started yet; try again"
                raise UnavailableError(told, retry_after_s=1) from error
            await self.checks[resource][1](operation, old, new)

        self.put(owner, {resource: wait})
        self._expected[resource] = arrived

    async def validate(self, call: Call, obj: JsonObject | None, old: JsonObject | None, operation: str) -> None:
        """Of a kind that is guarded."""
        if call.subresource == "status" or (operation == "DELETE" and call.kind.is_terminating):
            return
        owner, check = self.checks[call.kind.resource]
        # A call that never had to wait has no task of its own yet, and a timeout needs one.
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(self._longest_s):
                await check(operation, old, obj)
        except ApiError:
            raise
        except TimeoutError as error:
            told = f"{owner} did not check this write within {self._longest_s:g} s; try again"
            raise UnavailableError(told, retry_after_s=1) from error
        except Exception as error:  # Somebody else's code may do anything.
            log.error("admission guard failed", extra={"owner": owner, "resource": call.kind.resource}, exc_info=error)
            told = f"{owner} failed to check this write: {type(error).__name__}: {error}"
            raise InternalError(f"Internal error occurred: {told}") from error
