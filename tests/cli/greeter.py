"""An operator as a user would write it in one file: it says what a Greeting asks for, and can be slow or broken."""

from __future__ import annotations

import asyncio
import os

import msgspec

from homeostat.sdk import READY, Condition, CustomKind, Decision, Declared, Kind, Setup, Stalled, Status


class GreetingSpec(msgspec.Struct, frozen=True, rename="camel"):
    text: str = ""
    takes_s: float = 0.0


class GreetingStatus(Status, frozen=True):
    said: str = ""
    by: str = ""


class Greeting(Declared, frozen=True):
    spec: GreetingSpec = GreetingSpec()


class Say(msgspec.Struct, frozen=True):
    text: str


GREETING = Kind("example.test", "v1", "greetings", "Greeting", is_namespaced=True)
KINDS = (CustomKind(GREETING, spec=GreetingSpec, status=GreetingStatus),)


class Greeter:
    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    async def observe(self, obj: Greeting) -> str:
        await asyncio.sleep(obj.spec.takes_s)
        return self._said.get(obj.metadata.name, "") or obj.read_status(GreetingStatus).said

    def decide(self, obj: Greeting, world: str) -> Decision[Say]:
        if not obj.spec.text:
            raise Stalled("NothingToSay", message="the text is empty")
        if world != obj.spec.text:
            return Decision((Say(obj.spec.text),))
        by = os.environ.get("GREETER", "")
        return Decision(conditions=(Condition(READY, "True", "Said"),), status={"said": world, "by": by})

    async def act(self, obj: Greeting, action: Say) -> None:
        self._said[obj.metadata.name] = action.text


async def fail_where_asked() -> None:
    if "GREETER_BREAKS" in os.environ:
        raise ZeroDivisionError("a mistake of the operator's")


def register(setup: Setup) -> None:
    setup.control(GREETING, Greeting, Greeter())
    setup.run(fail_where_asked)
