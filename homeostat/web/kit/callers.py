"""Permission checks of pages that are not about one resource type."""

from __future__ import annotations

from homeostat.edge.request import Request
from homeostat.web.kit.gate import Caller, Gate, SystemPermission
from homeostat.web.kit.refusal import forbidden


async def require_admin(gate: Gate, request: Request) -> Caller:
    caller = await gate.identify(request)
    if not caller.is_admin:
        raise forbidden("Admin role required")
    return caller


async def require(gate: Gate, request: Request, permission: SystemPermission) -> Caller:
    caller = await gate.identify(request)
    if not await caller.has(permission):
        if permission == "manage_types":
            # No role can grant it.
            raise forbidden("Admin role required: only an administrator may change resource types")
        raise forbidden(
            f'Insufficient permissions: this requires "{permission}"; ask an administrator for a role that has it'
        )
    return caller
