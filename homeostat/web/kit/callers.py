"""Who may go on, for pages that are about more than resources of a type."""

from __future__ import annotations

from homeostat.edge.request import Request
from homeostat.web.kit.gate import Caller, Gate, SystemPermission
from homeostat.web.kit.refusal import forbidden


async def require_admin(gate: Gate, request: Request) -> Caller:
    caller = await gate.identify(request)
    if not caller.is_admin:
        raise forbidden("only an administrator may do this")
    return caller


async def require(gate: Gate, request: Request, permission: SystemPermission) -> Caller:
    caller = await gate.identify(request)
    if not await caller.has(permission):
        if permission == "manage_types":
            # No role can be given it.
            raise forbidden("only an administrator may change resource types")
        raise forbidden(f'the permission "{permission}" is needed for this')
    return caller
