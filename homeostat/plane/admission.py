"""Registers the admission checks of operators with the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from homeostat.runtime.description import Description, resource_of
from homeostat.runtime.supervisor import Supervisor
from homeostat.server.admission.guards import Guards
from homeostat.server.admission.reserved import Reservation, Reservations

if TYPE_CHECKING:
    from homeostat.runtime.setup import Setup


def expect_guards(guards: Guards, supervisor: Supervisor) -> None:
    """Refuse writes of what the operator guards until it is set up. Such a write wakes the operator."""
    for resource in supervisor.description.guarded:
        guards.expect(_owner(supervisor.description.name), resource, supervisor.wake)


def reserve_writes(reserved: Reservations, description: Description) -> None:
    """Refuse what others than the operator must not write, also while it sleeps or runs in another process."""
    reserved.put(Reservation(**msgspec.structs.asdict(each)) for each in description.reserved)


def put_guards(guards: Guards, setup: Setup) -> None:
    guards.put(_owner(setup.name), {resource_of(kind): check for kind, check in setup.guards.items()})


def _owner(name: str) -> str:
    return f'the operator "{name}"'
