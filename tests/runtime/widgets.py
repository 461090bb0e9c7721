"""An operator for tests: it writes what a Widget says into a ConfigMap, and misbehaves where one asks for it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import msgspec

from homeostat.client.base import Client
from homeostat.client.projection import Projection
from homeostat.objects.conditions import READY, Condition
from homeostat.objects.crd.custom_kind import AGE_COLUMN, READY_COLUMN, CustomKind, Status
from homeostat.objects.decision import Decision, Notice, Receipt, Stalled, Wait
from homeostat.objects.declared import Declared, Metadata, owner_reference
from homeostat.objects.errors import AlreadyExistsError, ConflictError, UnavailableError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import CONFIG_MAP, Kind
from homeostat.runtime.cache.cache import Cache
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.runtime.setup import Setup
from homeostat.runtime.watch.routes import to_owner

FINALIZER = "shop.example/cleanup"


class WidgetSpec(msgspec.Struct, frozen=True, rename="camel"):
    text: str = ""
    mode: str = ""
    again_after_s: float = 0.0


class WidgetStatus(Status, frozen=True):
    text: str = ""
    run: str = ""


class Widget(Declared, frozen=True):
    spec: WidgetSpec = WidgetSpec()


class Text(msgspec.Struct, frozen=True):
    text: str = ""


class Note(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: Text = Text()


class Write(msgspec.Struct, frozen=True):
    text: str


class Remove(msgspec.Struct, frozen=True):
    pass


class Start(msgspec.Struct, frozen=True):
    """Makes something that gets its name when it is made."""


Action = Write | Remove | Start
WIDGETS = CustomKind(
    Kind("shop.example", "v1", "widgets", "Widget", is_namespaced=True, singular="widget", short_names=("wd",)),
    spec=WidgetSpec,
    status=WidgetStatus,
    columns=(READY_COLUMN, AGE_COLUMN),
)
KINDS = (WIDGETS,)


class Writer:
    """`looks` counts the observations of each Widget, `acts` the actions."""

    def __init__(self, client: Client, notes: Cache[Note]) -> None:
        self._notes = notes
        self._objects = Projection(client, CONFIG_MAP, Note)
        self.looks: Counter[str] = Counter()
        self.acts: list[tuple[str, Action]] = []
        self.runs = 0
        self.at_work = self.most_at_work = 0
        self.texts_seen: list[tuple[str, str]] = []
        self.release = asyncio.Event()

    async def observe(self, obj: Widget) -> str | None:
        name = obj.metadata.name
        self.looks[name] += 1
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        try:
            if obj.spec.mode == "hang":
                await self.release.wait()
            await asyncio.sleep(0)
        finally:
            self.at_work -= 1
        if obj.spec.mode == "busy" and self.looks[name] == 1:
            raise UnavailableError("the API is away")
        note = self._notes.get(obj.metadata.namespace, name)
        self.texts_seen.append((name, "" if note is None else note.data.text))
        return None if note is None else note.data.text

    def decide(self, obj: Widget, world: str | None) -> Decision[Action]:
        if obj.is_terminating:
            return Decision((Remove(),) if world is not None else ())
        _misbehave(obj.spec.mode)
        if obj.spec.mode == "run":
            status = obj.read_status(WidgetStatus)
            return Decision(
                (Start(),) if not status.run else (), (Condition(READY, "True", "Ran"),) if status.run else ()
            )
        if world != obj.spec.text or obj.spec.mode == "blind":
            progress = Condition(READY, "False", "Writing", "the ConfigMap is being written")
            return Decision((Write(obj.spec.text),), (progress,))
        after = timedelta(seconds=obj.spec.again_after_s) if obj.spec.again_after_s else None
        before = obj.read_status(WidgetStatus).text
        notices = (Notice("Normal", "Written", f'"{before}" became "{world}"'),) if before != world else ()
        return Decision(
            conditions=(Condition(READY, "True", "Written"),),
            requeue_after=after,
            status={"text": world},
            notices=notices,
        )

    async def act(self, obj: Widget, action: Action) -> Receipt | None:
        name, namespace = obj.metadata.name, obj.metadata.namespace
        self.acts.append((name, action))
        match action:
            case Start():
                self.runs += 1
                return Receipt({"run": f"run-{self.runs}"})
            case Remove():
                await self._objects.delete(name, namespace)
            case Write(text) if obj.spec.mode != "blind":
                await self._write(obj, text)
        return None

    async def _write(self, obj: Widget, text: str) -> None:
        metadata = {"name": obj.metadata.name, "ownerReferences": [owner_reference(WIDGETS.kind, obj.metadata)]}
        wanted: JsonObject = {"metadata": metadata, "data": {"text": text}}
        try:
            await self._objects.create(wanted, obj.metadata.namespace)
        except AlreadyExistsError:
            await self._objects.patch({"data": {"text": text}}, obj.metadata.name, obj.metadata.namespace)


def _misbehave(mode: str) -> None:
    match mode:
        case "wait":
            raise Wait("ImageMissing", timedelta(milliseconds=100), message="the image is not published yet")
        case "stall":
            raise Stalled("BadText", message="the text cannot be written by anyone")
        case "fail":
            raise ZeroDivisionError("a mistake of ours")
        case "conflict":
            raise ConflictError("somebody was quicker")
        case "refuse":
            raise UnavailableError("come back later", retry_after_s=1)


class Widgets:
    """The operator as a module would be, with its writer at hand."""

    KINDS = KINDS
    writer_type = Writer

    def __init__(self, options: Options = Options(finalizer=FINALIZER)) -> None:  # noqa: B008
        self._options = options

    def register(self, setup: Setup) -> None:
        notes = setup.watch(CONFIG_MAP, Note)
        self.writer = self.writer_type(setup.client, notes.cache)
        self.controller = setup.control(WIDGETS.kind, Widget, self.writer, self._options)
        self.controller.also(notes, to_owner(WIDGETS.kind))


def widget(name: str, text: str = "hello", **spec: object) -> JsonObject:
    return {
        "apiVersion": "shop.example/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"text": text, **spec},
    }


def path(name: str = "", subresource: str = "") -> str:
    return WIDGETS.kind.path("default", name, subresource)


@dataclass(frozen=True, slots=True)
class Shop:
    """A namespace in which Widgets are reconciled, on whatever server."""

    client: Client
    namespace: str

    @property
    def notes(self) -> str:
        return CONFIG_MAP.path(self.namespace)

    @property
    def events(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/events"

    def path(self, name: str = "", subresource: str = "") -> str:
        return WIDGETS.kind.path(self.namespace, name, subresource)

    def manager(self, *, grace_s: float = 20.0) -> Manager:
        """It sees nothing of what others do on the same server."""
        return Manager(self.client, namespace=self.namespace, grace_s=grace_s)

    @asynccontextmanager
    async def managed(self, widgets: Widgets, manager: Manager | None = None) -> AsyncIterator[Manager]:
        async with managed(self.client, widgets, manager or self.manager()) as running:
            yield running


@asynccontextmanager
async def managed(client: Client, widgets: Widgets, manager: Manager | None = None) -> AsyncIterator[Manager]:
    await install(client, KINDS)
    manager = manager or Manager(client)
    manager.add("widgets", widgets.register, widgets.KINDS)
    async with manager.running():
        yield manager
