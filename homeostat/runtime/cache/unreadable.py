"""The objects that exist on the server but do not match the projection of a cache.

An unreadable object is not absent: an operator that took it for absent would create it again, and overwrite the object
of somebody else. So its name is kept, with the reason. Promises, each tested:

- getting such an object raises an `UnreadableError` that names the object, the struct and the reason
- a caller that got this error can be called once when the object changes
- nothing is kept of an object that is readable again or deleted, nor of a caller that has unsubscribed
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial

from homeostat.client.projection import ProjectionError
from homeostat.runtime.cache.decoding import UnreadableObject
from homeostat.runtime.cache.index import Name

Handler = Callable[[UnreadableObject], None]


class UnreadableError(ProjectionError):
    """The object exists, but does not match the projection."""

    reason = "Unreadable"

    def __init__(self, message: str, unreadable: UnreadableObjects, name: Name) -> None:
        super().__init__(message)
        self._unreadable, self._name = unreadable, name

    def when_changed(self, key: Hashable, call: Callable[[], None]) -> Callable[[], None]:
        """Calls `call` once when the object changes, readable or not; at once if it has changed already.

        A second call with the same key replaces the first. The returned function unsubscribes; it does not refer to
        this error.
        """
        self._unreadable.when_changed(self._name, key, call)
        return partial(self._unreadable.forget, self._name, key)


class UnreadableObjects:
    """Written by the writer of the cache. `title` names the objects, and `shape` the struct, in errors."""

    def __init__(self, title: str = "object", shape: str = "its projection") -> None:
        self.found: dict[Name, UnreadableObject] = {}
        self._title, self._shape = title, shape
        self._waiting: dict[Name, dict[Hashable, Callable[[], None]]] = {}
        self._handlers: tuple[Handler, ...] = ()

    def error(self, name: Name) -> UnreadableError:
        namespace, own = name
        full = f"{namespace}/{own}" if namespace else own
        return UnreadableError(
            f'{self._title} "{full}" does not match {self._shape}: {self.found[name].reason}; '
            f"correct the object, or change {self._shape} to accept it",
            self,
            name,
        )

    def put(self, unreadable: UnreadableObject) -> None:
        name = (unreadable.namespace, unreadable.name)
        if self.found.get(name) != unreadable:
            self.found[name] = unreadable
            self._notify(name, unreadable)

    def drop(self, name: Name) -> None:
        """The object is readable or deleted now."""
        if (unreadable := self.found.pop(name, None)) is not None:
            self._notify(name, unreadable)

    def when_changed(self, name: Name, key: Hashable, call: Callable[[], None]) -> None:
        if name in self.found:
            self._waiting.setdefault(name, {})[key] = call
        else:
            call()

    def forget(self, name: Name, key: Hashable) -> None:
        waiting = self._waiting.get(name)
        if waiting is not None and waiting.pop(key, None) is not None and not waiting:
            del self._waiting[name]

    def add_handler(self, handler: Handler) -> None:
        """Gets each unreadable object when it appears, changes, or is no longer unreadable; the current ones at once.

        It must not raise.
        """
        for unreadable in list(self.found.values()):
            handler(unreadable)
        self._handlers += (handler,)

    def remove_handler(self, handler: Handler) -> None:
        self._handlers = tuple(each for each in self._handlers if each != handler)

    def _notify(self, name: Name, unreadable: UnreadableObject) -> None:
        for handler in self._handlers:
            handler(unreadable)
        for call in self._waiting.pop(name, {}).values():
            call()
