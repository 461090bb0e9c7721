"""What operators have to say about writes, brought to the server: where both halves meet."""

from __future__ import annotations

from homeostat.runtime.description import Description, resource_of
from homeostat.runtime.setup import Setup
from homeostat.server.admission.guards import Guards


def expect_guards(guards: Guards, description: Description) -> None:
    """Before the operator is set up: nothing that it guards is written until then."""
    for resource in description.guarded:
        guards.expect(_owner(description.name), resource)


def put_guards(guards: Guards, setup: Setup) -> None:
    guards.put(_owner(setup.name), {resource_of(kind): check for kind, check in setup.guards.items()})


def _owner(name: str) -> str:
    return f'the operator "{name}"'
