"""An app that is opened when the first request for it arrives, and again after it failed.

Promises, each tested: an app without requests is never opened; requests that arrive while it opens wait for it; an app
that fails, or does not open in time, answers 503 and is opened again; its failure does not affect the rest of the
process. The reason is logged and not sent: callers are not authenticated yet, and it may name hosts and files.

Where an app has pages that need few imports, those do not wait for it the first time: `open_first` returns what
answers them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.server import Answer, Handler
from homeostat.objects.json import encode
from homeostat.runtime.background import background
from homeostat.runtime.faces.face import First

log = logging.getLogger(__name__)

_WAIT_S = 30.0
_OPEN_WITHIN_S = 60.0
_AGAIN_AFTER_S = 5.0


class OnDemand:
    """Serves the app that `open_app` opens. `title` names it in errors."""

    def __init__(
        self,
        title: str,
        open_app: Callable[[], AbstractAsyncContextManager[Handler]],
        *,
        open_first: Callable[[], First | None] | None = None,
        again_after_s: float = _AGAIN_AFTER_S,
        open_within_s: float = _OPEN_WITHIN_S,
    ) -> None:
        self._title, self._open = title, open_app
        self._again_after_s, self._open_within_s = again_after_s, open_within_s
        self._app: Handler | None = None
        self._open_first, self._opening_first = open_first, asyncio.Lock()
        self._first: First | None = None
        self._wanted, self._changed = asyncio.Event(), asyncio.Event()

    def __call__(self, request: Request) -> Answer | Awaitable[Answer]:
        if self._app is not None:
            return self._app(request)
        if self._open_first is None:
            self.want()
        return self._later(request)

    def want(self) -> None:
        """Opens the app before the first request."""
        self._wanted.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with background(self._run()):
            yield

    async def _later(self, request: Request) -> Answer:
        if first := await self._answer_first(request):
            return first
        self.want()
        try:
            async with asyncio.timeout(_WAIT_S):
                await self._changed.wait()
        except TimeoutError:
            return refuse(503, f"the {self._title} is still being opened; try again in a few seconds")
        if self._app is None:
            return refuse(503, f"the {self._title} is unavailable; the log of this process says why")
        answer = self._app(request)
        return await answer if isinstance(answer, Awaitable) else answer

    async def _answer_first(self, request: Request) -> Answer | None:
        """While the app has neither been opened nor failed to open."""
        if self._open_first is None or self._changed.is_set():
            return None
        async with self._opening_first:
            if self._first is None:
                self._first = await asyncio.to_thread(self._open_first) or _nothing
        answer = self._first(request)
        answered = await answer if answer is not None else None
        # Now, and not before: the imports of the app would slow this answer down.
        self.want()
        return answered

    async def _run(self) -> None:
        await self._wanted.wait()
        while True:
            try:
                async with AsyncExitStack() as stack:
                    async with asyncio.timeout(self._open_within_s):
                        app = await stack.enter_async_context(self._open())
                    self._app = app
                    self._changed.set()
                    await asyncio.Event().wait()
            except asyncio.CancelledError as error:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                # A task of the app was cancelled, and not this one: a failure like any other.
                self._note("a part of it was cancelled", error)
            except TimeoutError as error:
                self._note(str(error) or f"timed out after {self._open_within_s:g} s", error)
            except Exception as error:
                from homeostat.runtime.control.failure_conditions import sole_error

                self._note(str(sole_error(error)), error)
            await asyncio.sleep(self._again_after_s)
            self._changed.clear()

    def _note(self, reason: str, error: BaseException) -> None:
        self._app = None
        self._changed.set()
        fields = {"face": self._title, "reason": reason}
        log.error("face failed; reopening it", extra=fields, exc_info=error)


def _nothing(request: Request) -> None:
    """Leaves every request to the app."""


def refuse(status: int, message: str) -> Reply:
    return Reply(status, encode({"detail": message}))
