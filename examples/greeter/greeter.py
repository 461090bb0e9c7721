"""Keeps a ConfigMap with the text of every Greeting."""

from msgspec import Struct

from homeostat.objects.conditions import READY, Condition
from homeostat.objects.crd.custom_kind import AGE_COLUMN, READY_COLUMN, CustomKind
from homeostat.objects.decision import Decision, Notice, Stalled
from homeostat.objects.declared import Declared, Metadata, owner_reference
from homeostat.objects.kind import CONFIG_MAP, Kind
from homeostat.objects.roles import READ, control_rules, rule
from homeostat.runtime.setup import Setup
from homeostat.runtime.watch.routes import to_itself


class Spec(Struct, frozen=True):
    text: str


class Greeting(Declared, frozen=True):
    spec: Spec


class Note(Struct, frozen=True):
    metadata: Metadata
    data: dict[str, str] = {}


class Write(Struct, frozen=True):
    text: str


GREETING = Kind("example.dev", "v1", "greetings", "Greeting", is_namespaced=True, short_names=("gr",))
KINDS = (CustomKind(GREETING, spec=Spec, columns=(READY_COLUMN, AGE_COLUMN)),)
RULES = (*control_rules(GREETING), rule("", ["configmaps"], [*READ, "create", "patch"]))


class Greeter:
    def __init__(self, setup: Setup) -> None:
        self.notes = setup.watch(CONFIG_MAP, Note)
        self.config_maps = setup.objects(CONFIG_MAP, Note)

    async def observe(self, obj: Greeting) -> Note | None:
        return self.notes.cache.get(obj.metadata.namespace, obj.metadata.name)

    def decide(self, obj: Greeting, world: Note | None) -> Decision[Write]:
        if world is not None and obj.metadata.uid not in {owner.uid for owner in world.metadata.owner_references}:
            raise Stalled("NameTaken", message=f'there is a ConfigMap "{obj.metadata.name}" that is not ours')
        if world is not None and world.data.get("text") == obj.spec.text:
            return Decision(conditions=(Condition(READY, "True", "Written"),))
        ready = Condition(READY, "False", "Differs", "there is no ConfigMap" if world is None else "it says otherwise")
        return Decision((Write(obj.spec.text),), (ready,), notices=(Notice("Normal", "Writing", ready.message),))

    async def act(self, obj: Greeting, action: Write) -> None:
        cm = {"metadata": {"ownerReferences": [owner_reference(GREETING, obj.metadata)]}, "data": {"text": action.text}}
        await self.config_maps.apply(cm, obj.metadata.name, obj.metadata.namespace, manager="greeter")


def register(setup: Setup) -> None:
    setup.control(GREETING, Greeting, greeter := Greeter(setup)).also(greeter.notes, to_itself(GREETING))
