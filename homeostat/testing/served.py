"""A plane on a thread of its own, for tests that reach it over HTTPS with any client of Kubernetes.

with served_plane(tmp_path) as plane:
    with plane.namespace() as kubernetes:
        subprocess.run(["kubectl", "get", "pods"], env={"KUBECONFIG": str(kubernetes.kubeconfig)})
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from homeostat.client.base import Client
from homeostat.objects import yaml
from homeostat.objects.errors import NotFoundError
from homeostat.plane import Plane, Settings, open_plane
from homeostat.server.pki.private_file import write_private

_START_WITHIN_S: Final = 30.0
_STOP_WITHIN_S: Final = 15.0
_CALL_WITHIN_S: Final = 30.0
_NAMESPACES: Final = "/api/v1/namespaces"
T = TypeVar("T")


class Kubernetes(NamedTuple):
    """The API as one test sees it."""

    url: str
    kubeconfig: Path
    """Of an administrator; its namespace is the test's own."""
    namespace: str


class ServedPlane:
    def __init__(self, data: Path, operators: frozenset[str]) -> None:
        self._settings = Settings(data=data, port=0, operators=operators)
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="homeostat-plane", daemon=True)
        self._plane: Plane | None = None
        self._serving: asyncio.Task[None] | None = None
        self._error: BaseException | None = None
        self._numbers = itertools.count(1)

    @property
    def url(self) -> str:
        return self.plane.url

    @property
    def plane(self) -> Plane:
        assert self._plane is not None, "the plane has not been started"
        return self._plane

    def start(self) -> None:
        """Returns once it serves."""
        self._thread.start()
        if not self._started.wait(_START_WITHIN_S):
            raise TimeoutError(f"the plane did not serve within {_START_WITHIN_S:g} s")
        self._raise_error()

    def stop(self) -> None:
        """Raises the error that ended the plane, unless `start` raised it."""
        if self._thread.is_alive():
            with suppress(RuntimeError):  # It ended just now and closed its loop.
                self._loop.call_soon_threadsafe(self._end)
            self._thread.join(_STOP_WITHIN_S)
            if self._thread.is_alive():
                raise TimeoutError(f"the plane did not stop within {_STOP_WITHIN_S:g} s")
        self._raise_error()

    @contextmanager
    def namespace(self) -> Iterator[Kubernetes]:
        """A namespace that is deleted at the end, with all that is in it."""
        name = f"test-{next(self._numbers)}"
        self.call(self.plane.client.create(_NAMESPACES, {"metadata": {"name": name}}))
        path = self._settings.data / f"kubeconfig-{name}"
        try:
            write_private(path, self._kubeconfig(name))
            yield Kubernetes(self.url, path, name)
        finally:
            path.unlink(missing_ok=True)
            with suppress(NotFoundError):
                self.call(self.plane.client.delete(f"{_NAMESPACES}/{name}"))

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine that runs on the plane's own loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(_CALL_WITHIN_S)

    @property
    def client(self) -> Client:
        """Without HTTP; use it by `call`."""
        return self.plane.client

    def _kubeconfig(self, namespace: str) -> bytes:
        config = yaml.load(self.plane.kubeconfig_path.read_bytes())
        for context in config["contexts"]:
            context["context"]["namespace"] = namespace
        return yaml.dump(config)

    def _run(self) -> None:
        try:
            self._serving = self._loop.create_task(self._serve())
            self._loop.run_until_complete(self._serving)
        except asyncio.CancelledError:
            if not self._stop.is_set():
                self._error = RuntimeError("the plane was cancelled")
        except BaseException as error:
            self._error = error
        finally:
            self._started.set()
            self._loop.close()

    def _end(self) -> None:
        self._stop.set()
        if self._plane is None and self._serving is not None:
            self._serving.cancel()

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    async def _serve(self) -> None:
        async with open_plane(self._settings) as self._plane:
            self._started.set()
            await self._stop.wait()


@contextmanager
def served_plane(data: Path, *operators: str) -> Iterator[ServedPlane]:
    """In the block it serves. `operators` are values of `--operators`; housekeeping always runs."""
    plane = ServedPlane(data, frozenset({"housekeeping", *operators}))
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()
