"""Admission checks of operators in this process, for rules that a schema cannot express.

Promises, each with a test: a check that fails or times out denies the write and says so; a write waits for a check that
is expected but not registered yet, and is denied if it does not arrive; kinds without a check cost one look-up.

A check runs as the last step of admission, on objects as they will be stored, but not on status writes. It may read
from this server and must not write to it. Objects of a definition that is being deleted are not checked.
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
"""`check(operation, old, new)` raises the `ApiError` that denies the write. Operations: CREATE, UPDATE, DELETE."""
_LONGEST_S = 10.0


class Guards:
    """The checks by resource, such as `deployments.apps`, each with its owner."""

    def __init__(self, *, longest_s: float = _LONGEST_S) -> None:
        self.checks: dict[str, tuple[str, Check]] = {}
        self._longest_s = longest_s
        self._expected: dict[str, asyncio.Event] = {}

    def put(self, owner: str, checks: Mapping[str, Check]) -> None:
        """Register checks, replacing earlier ones of the same resources."""
        self.checks.update({resource: (owner, check) for resource, check in checks.items()})
        for resource in self._expected.keys() & checks.keys():
            self._expected.pop(resource).set()

    def expect(self, owner: str, resource: str, want: Callable[[], None] = lambda: None) -> None:
        """Deny writes of a resource until its check is registered. `want` is called when a write waits for it."""
        arrived = asyncio.Event()

        async def wait(operation: str, old: JsonObject | None, new: JsonObject | None) -> None:
            want()
            try:
                async with asyncio.timeout(self._longest_s / 2):
                    await arrived.wait()
            except TimeoutError as error:
                message = f"{owner} checks writes of {resource} and has not started yet; try again"
                raise UnavailableError(message, retry_after_s=1) from error
            await self.checks[resource][1](operation, old, new)

        self.put(owner, {resource: wait})
        self._expected[resource] = arrived

    async def validate(self, call: Call, obj: JsonObject | None, old: JsonObject | None, operation: str) -> None:
        """Run the check of a guarded kind."""
        if call.subresource == "status" or (operation == "DELETE" and call.kind.is_terminating):
            return
        owner, check = self.checks[call.kind.resource]
        # A call that has not waited yet has no task, and a timeout needs one.
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(self._longest_s):
                await check(operation, old, obj)
        except ApiError:
            raise
        except TimeoutError as error:
            message = f"{owner} did not check this write within {self._longest_s:g} s; try again"
            raise UnavailableError(message, retry_after_s=1) from error
        except Exception as error:  # an operator's code may raise anything
            log.error("admission guard failed", extra={"owner": owner, "resource": call.kind.resource}, exc_info=error)
            message = f"{owner} failed to check this write: {type(error).__name__}: {error}"
            raise InternalError(f"Internal error occurred: {message}") from error
