"""Registers the admission checks of operators with the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homeostat.runtime.description import resource_of
from homeostat.runtime.supervisor import Supervisor
from homeostat.server.admission.guards import Guards

if TYPE_CHECKING:
    from homeostat.runtime.setup import Setup


def expect_guards(guards: Guards, supervisor: Supervisor) -> None:
    """Refuse writes of what the operator guards until it is set up. Such a write wakes the operator."""
    for resource in supervisor.description.guarded:
        guards.expect(_owner(supervisor.description.name), resource, supervisor.wake)


def put_guards(guards: Guards, setup: Setup) -> None:
    guards.put(_owner(setup.name), {resource_of(kind): check for kind, check in setup.guards.items()})


def _owner(name: str) -> str:
    return f'the operator "{name}"'
