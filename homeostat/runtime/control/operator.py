"""The seam between the runtime and an operator: the name of the object to reconcile, and the three parts of a
reconciliation.

The runtime owns the sequence: observe, decide, act, one status write, and again until nothing is left to do.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

from homeostat.objects.decision import Decision, Receipt

Obj = TypeVar("Obj", contravariant=True)  # noqa: PLC0105
World = TypeVar("World")
Action = TypeVar("Action")


class Request(NamedTuple):
    """Which object to reconcile: a name and never an event, so that many events are one reconciliation.

    `kind` is the full one, `Deployment.apps` or `Pod`; `namespace` is empty for a cluster's own.
    """

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class Operator(Protocol[Obj, World, Action]):
    """What a controller is made of.

    Guarantees: an object is never reconciled twice at once; after acting it is reconciled again; a terminating
    object is decided like any other, and its finalizer is removed when there is no action left.
    Assumptions: `observe` changes nothing; `decide` does no I/O and gives the same for the same; an `act` that was cut
    off may be repeated, unless it returns a `Receipt`.
    Caveats: any error ends the reconciliation. `Wait` and `Stalled` say how; every other one is retried with backoff.
    """

    async def observe(self, obj: Obj) -> World:
        """What the decision depends on, as a frozen value."""

    def decide(self, obj: Obj, world: World) -> Decision[Action]: ...

    async def act(self, obj: Obj, action: Action) -> Receipt | None:
        """Carries out one action; a `Receipt` where it made something that it could not name beforehand."""
