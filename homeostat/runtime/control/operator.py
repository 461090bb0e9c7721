"""The protocol of an operator: the name of the object to reconcile, and the three parts of a reconciliation.

The runtime owns the sequence: observe, decide, act, one status write, and again until nothing is left to do.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

from homeostat.objects.decision import Decision, Receipt

Obj = TypeVar("Obj", contravariant=True)  # noqa: PLC0105
World = TypeVar("World")
Action = TypeVar("Action")


class Request(NamedTuple):
    """The object to reconcile: a name and never an event, so that many events lead to one reconciliation.

    `kind` is `Deployment.apps` or `Pod`; `namespace` is empty for cluster-scoped objects.
    """

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class Operator(Protocol[Obj, World, Action]):
    """The part of a controller that its author writes.

    Guarantees: an object is never reconciled twice at once; after acting it is reconciled again; a terminating
    object is decided like any other, and its finalizer is removed when there is no action left.
    Assumptions: `observe` changes nothing; `decide` does no I/O and returns the same for the same arguments; an `act`
    that was interrupted may be repeated, unless it returns a `Receipt`.
    Caveats: any error ends the reconciliation. `Wait` and `Stalled` say what follows; others are retried with backoff.
    """

    async def observe(self, obj: Obj) -> World:
        """Returns everything that the decision depends on, as a frozen value."""

    def decide(self, obj: Obj, world: World) -> Decision[Action]: ...

    async def act(self, obj: Obj, action: Action) -> Receipt | None:
        """Carries out one action; returns a `Receipt` if it created something that it could not name beforehand."""
