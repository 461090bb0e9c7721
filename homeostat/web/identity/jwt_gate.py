"""Accepts the tokens that this API issues, and passes other requests to another gate.

A token only says who the caller is. Whether the user is active and what the role allows is read at each request, so
suspending a user or changing a role takes effect at once.
"""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.edge.request import Request
from homeostat.web.identity.credentials.token import Claims, TokenError, Tokens
from homeostat.web.identity.permissions import allows
from homeostat.web.identity.records import Registers, Role, User
from homeostat.web.kit.gate import Caller, Gate, Operation, Question, SystemPermission, bearer_token
from homeostat.web.kit.refusal import forbidden, unauthorized


class UserCaller:
    """A user of this API."""

    groups = ()
    is_cluster_user = False

    def __init__(self, user: User, role: Role | None) -> None:
        self.id, self.username, self.is_admin = user.number, user.name, user.spec.is_admin
        self._permissions = role.spec.permissions if role is not None else ()
        self._system: tuple[str, ...] = role.spec.system_permissions if role is not None else ()

    def client(self, own: Client) -> Client:
        if not self.is_admin:
            raise forbidden(f"{self.username} has no permissions in the Kubernetes API; sign in with a token of it")
        return own

    async def may(self, type_name: str, type_version: str, operation: Operation) -> bool:
        return self.is_admin or allows(self._permissions, type_name, type_version, operation)

    async def has(self, permission: SystemPermission) -> bool:
        return self.is_admin or permission in self._system

    async def may_read_secret(self, name: str) -> bool:
        """Roles of this API grant no access to Secrets."""
        return self.is_admin

    async def allows(self, question: Question) -> bool:
        return self.is_admin


class JwtGate:
    def __init__(self, registers: Registers, tokens: Tokens, otherwise: Gate) -> None:
        self._registers, self._tokens, self._otherwise = registers, tokens, otherwise

    async def identify(self, request: Request) -> Caller:
        token = bearer_token(request)
        try:
            claims = self._tokens.read(token) if token else None
        except TokenError as error:
            raise unauthorized(str(error)) from error
        if claims is None:
            return await self._otherwise.identify(request)
        await self._registers.ready()
        return self._caller(claims)

    def _caller(self, claims: Claims) -> Caller:
        user = self._registers.users.named(claims.username)
        # A name can be used again after its object was deleted; a number cannot.
        if user is None or str(user.number) != claims.sub or user.spec.is_suspended:
            raise unauthorized("the user of the token is not active")
        if claims.iat < user.spec.tokens_after:
            raise unauthorized("the token was revoked; log in again")
        return UserCaller(user, self._registers.role_of(user))
