"""`Setup`: the API that an operator uses in `register` to declare its controllers, watches, jobs, guards and computed
kinds.

    def register(setup: Setup) -> None:
        pods = setup.watch(POD, Pod)
        controller = setup.control(POLICY, Policy, Scorer(pods.cache), Options(finalizer="example.dev/cleanup"))
        controller.also(pods, to_mapped(POLICY, policies_of))

An operator is a module with this function and the `KINDS` that it declares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from homeostat.client.base import Client
from homeostat.client.projection import Projection
from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.objects.declared import Declared
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.runtime.cache.decoding import Projected
from homeostat.runtime.cache.index import KeysOf
from homeostat.runtime.cache.informer import Informer, Informers
from homeostat.runtime.computed import Computed, Read
from homeostat.runtime.control.controller import Controller
from homeostat.runtime.control.operator import Operator
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.control.reconcile import Options, Tools
from homeostat.runtime.control.recorder import Recorder
from homeostat.runtime.control.status_fields import status_fields_of
from homeostat.runtime.control.writes import Scope
from homeostat.runtime.guard import Guard
from homeostat.runtime.telemetry.metrics import Metrics
from homeostat.runtime.watch.source import Source

V = TypeVar("V", bound=Projected)
S = TypeVar("S", bound=msgspec.Struct)
Obj = TypeVar("Obj", bound=Declared)
World = TypeVar("World")
Action = TypeVar("Action")
Job = Callable[[], Awaitable[None]]
_USUAL = Options()


class OperatorModule(Protocol):
    @property
    def KINDS(self) -> Sequence[CustomKind]: ...  # noqa: N802

    def register(self, setup: Setup) -> None: ...


class Controls(Protocol):
    """Starts and ends controllers that are added and removed while the operator runs; otherwise does nothing."""

    def begin(self, controller: Controller[Any, Any, Any]) -> None: ...
    def end(self, controller: Controller[Any, Any, Any]) -> None: ...


class Setup:
    """The setup of one operator. The operator uses `client`, whose writes are tracked. `namespace` is the only one that
    the operator watches; empty for all.
    """

    def __init__(
        self,
        name: str,
        informers: Informers,
        *,
        tools: Tools,
        controls: Controls,
        namespace: str,
        directory: Path,
        environment: Mapping[str, str],
        kinds: Iterable[CustomKind] = (),
    ) -> None:
        self.name, self.namespace = name, namespace
        self._directory, self._environment = directory, environment
        self.controllers: list[Controller[Any, Any, Any]] = []
        self.queues: list[str] = []
        self.jobs: list[Job] = []
        self.reading_jobs: list[Job] = []
        self.guards: dict[Kind, Guard] = {}
        self.computed: dict[Kind, Computed] = {}
        self.offers: dict[str, object] = {}
        self._shared, self._tools, self._controls = informers, tools, controls
        self._watched: Counter[Informer[Any]] = Counter()
        self._status_fields = {each.kind.path(""): status_fields_of(each) for each in kinds}

    @property
    def directory(self) -> Path:
        """The operator's own directory, which it creates when needed. It is a cache: its content may be deleted."""
        return self._directory / self.name

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables of the process, which hold settings and may hold secrets."""
        return self._environment

    @property
    def informers(self) -> list[Informer[Any]]:
        return list(self._watched)

    @property
    def client(self) -> Client:
        return self._tools.client

    @property
    def recorder(self) -> Recorder:
        return self._tools.recorder

    @property
    def metrics(self) -> Metrics:
        return self._tools.metrics

    def watch(
        self,
        kind: Kind,
        shape: type[V],
        *,
        labels: str = "",
        fields: str = "",
        is_metadata_only: bool = False,
        indexes: Mapping[str, KeysOf[V]] | None = None,
    ) -> Informer[V]:
        """A cache of the objects of a kind in this projection. Equal requests share one cache."""
        path = kind.path(self.namespace if kind.is_namespaced else "")
        informer = self._shared.get(Source(path, labels, fields, is_metadata_only), shape, indexes)
        self._watched[informer] += 1
        return informer

    def unwatch(self, informer: Informer[Any]) -> None:
        """Ends a use of a cache, for a kind that is no longer served. Its watch ends with the last use."""
        self._watched[informer] -= 1
        if not self._watched[informer]:
            del self._watched[informer]
        self._shared.drop(informer)

    def objects(self, kind: Kind, shape: type[S]) -> Projection[S]:
        """Reads (not from caches) and writes the objects of a kind; the writes are tracked."""
        return Projection(self.client, kind, shape)

    def control(
        self,
        kind: Kind,
        shape: type[Obj],
        operator: Operator[Obj, World, Action],
        options: Options = _USUAL,
        *,
        name: str = "",
        labels: str = "",
    ) -> Controller[Obj, World, Action]:
        """Adds a controller of a kind. `name` is required if an operator has several.

        It may also be called while the operator runs, for kinds that are added later; `release` ends the controller.
        """
        name = f"{self.name}-{name}" if name else self.name
        if any(each.name == name for each in self.controllers):
            raise ValueError(f'the operator has a controller "{name}" already; give this one a name of its own')
        informer = self.watch(kind, shape, labels=labels)
        fields = self._status_fields.get(kind.path(""))
        controller = Controller(
            name, kind, informer, operator, tools=self._tools, options=options, status_fields=fields
        )
        self.controllers.append(controller)
        self._controls.begin(controller)
        return controller

    async def release(self, controller: Controller[Any, Any, Any], *, grace_s: float = 20.0) -> None:
        """Removes the controller of a kind: running work ends within the grace period, then its metrics and, unless
        another reader shares it, its watch.
        """
        self.controllers.remove(controller)
        await controller.close(grace_s)
        self._controls.end(controller)
        self.unwatch(controller.informer)
        self.metrics.forget(controller.name)

    def guard(self, kind: CustomKind, check: Guard) -> None:
        """Adds an admission check for writes to a kind of the operator; it runs on an embedded plane only."""
        if not kind.is_guarded:
            raise ValueError(
                f"{kind.kind.title} is not declared with is_guarded, so writes would pass before the start"
            )
        self.guards[kind.kind] = check

    def compute(self, kind: Kind, read: Read, schema: JsonObject) -> None:
        """Serves a kind whose objects are computed when they are read, such as metrics, on an embedded plane only."""
        self.computed[kind] = Computed(read, schema)

    def run(self, job: Job, *, is_reading: bool = False) -> None:
        """Adds a job that runs beside the controllers while this process is the leader. An error ends the manager.

        One that only reads (`is_reading`) runs in a dry run, too: `observe` may depend on it.
        """
        self.jobs.append(job)
        if is_reading:
            self.reading_jobs.append(job)

    def count_queue(self, name: str, queue: WorkQueue[Any]) -> str:
        """Shows a queue that a job works on among the controllers of the operator, and in its metrics. Returns its name
        there, under which the caller counts reconciles (`metrics.reconciled`).
        """
        whole = f"{self.name}-{name}"
        self.queues.append(whole)
        self.metrics.watch_queue(whole, queue)
        return whole

    def offer(self, face: str, value: object) -> None:
        """Gives the face of this name, if this process serves it, an object of the operator (`Surroundings.offered`).
        It is there from the setup on, also while another process leads.
        """
        self.offers[face] = value

    def scope(self) -> Scope:
        """A scope for work that is not about a single object: writes are refused if this process is not the leader."""
        return Scope(self._tools.refusal)
