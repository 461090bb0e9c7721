"""Keeps a ConfigMap with the text of every Greeting."""

from msgspec import Struct

from homeostat import sdk


class Spec(Struct, frozen=True):
    text: str


class Greeting(sdk.Declared, frozen=True):
    spec: Spec


class Note(Struct, frozen=True):
    metadata: sdk.Metadata
    data: dict[str, str] = {}


class Write(Struct, frozen=True):
    text: str


GREETING = sdk.Kind("example.dev", "v1", "greetings", "Greeting", is_namespaced=True, short_names=("gr",))
KINDS = (sdk.CustomKind(GREETING, spec=Spec, columns=(sdk.READY_COLUMN, sdk.AGE_COLUMN)),)
RULES = (*sdk.control_rules(GREETING), sdk.role_rule("", ["configmaps"], [*sdk.READ, "create", "patch"]))


class Greeter:
    def __init__(self, setup: sdk.Setup) -> None:
        self.notes = setup.watch(sdk.CONFIG_MAP, Note)
        self.config_maps = setup.objects(sdk.CONFIG_MAP, Note)

    async def observe(self, obj: Greeting) -> Note | None:
        return self.notes.cache.get(obj.metadata.namespace, obj.metadata.name)

    def decide(self, obj: Greeting, world: Note | None) -> sdk.Decision[Write]:
        if world is not None and obj.metadata.uid not in {owner.uid for owner in world.metadata.owner_references}:
            raise sdk.Stalled("NameTaken", message=f'there is a ConfigMap "{obj.metadata.name}" that is not ours')
        if world is not None and world.data.get("text") == obj.spec.text:
            return sdk.Decision(conditions=(sdk.Condition(sdk.READY, "True", "Written"),))
        why = "there is no ConfigMap" if world is None else "it says otherwise"
        ready = sdk.Condition(sdk.READY, "False", "Differs", why)
        return sdk.Decision((Write(obj.spec.text),), (ready,), notices=(sdk.Notice("Normal", "Writing", why),))

    async def act(self, obj: Greeting, action: Write) -> None:
        owner = sdk.owner_reference(GREETING, obj.metadata)
        cm = {"metadata": {"ownerReferences": [owner]}, "data": {"text": action.text}}
        await self.config_maps.apply(cm, obj.metadata.name, obj.metadata.namespace, manager="greeter")


def register(setup: sdk.Setup) -> None:
    setup.control(GREETING, Greeting, greeter := Greeter(setup)).also(greeter.notes, sdk.to_itself(GREETING))
