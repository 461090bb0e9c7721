"""Handles a request in a fixed order of steps.

Authentication, then path and kind, authorization, in-flight limits, and at last the verb. The outermost step turns
every error into a `Status`; verbs only raise.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import msgspec

from homeostat.edge.ids import RequestIds, id_in
from homeostat.edge.imports import import_in_thread, is_imported
from homeostat.edge.loopback import refusal_of
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.threads import in_thread
from homeostat.objects.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    InternalError,
    MethodNotAllowedError,
    NotFoundError,
    TimedOutError,
    UnauthorizedError,
    UnavailableError,
)
from homeostat.objects.json import encode
from homeostat.server.access.attributes import Attributes
from homeostat.server.access.authn import Authenticator
from homeostat.server.access.authz import Authorizer
from homeostat.server.access.impersonation import impersonation
from homeostat.server.access.nodes.identity import NODE_PREFIX
from homeostat.server.access.reviews import Reviews
from homeostat.server.access.tokens.service_account import LIBRARY, may_be_signed
from homeostat.server.access.user import OPEN, SELF, User
from homeostat.server.flow_control.classifier import Classifier, Flow
from homeostat.server.flow_control.level import Level
from homeostat.server.kinds.builtins.members import struct, text
from homeostat.server.kinds.registry import Kind
from homeostat.server.metrics import Metrics
from homeostat.server.request.body import read_object, require_small_body, settle_body
from homeostat.server.request.call import Answer, Backend, Call, Verb
from homeostat.server.request.deadlines import Deadlines
from homeostat.server.request.eager import Started, run_eagerly
from homeostat.server.request.in_flight import CHANGING, InFlight, Lane, ObjectLanes
from homeostat.server.request.large_calls import COUNTED_BYTES, LargeCalls, size_of
from homeostat.server.request.negotiate import PLAIN, negotiate
from homeostat.server.request.options import check_timeout
from homeostat.server.request.paths import ObjectPath, parse_path
from homeostat.server.request.requested import attributes_of, options_of, requested, selected, selected_nodes, verb_of
from homeostat.server.verbs.computed import read_computed
from homeostat.server.verbs.create import create
from homeostat.server.verbs.delete import delete, delete_collection
from homeostat.server.verbs.get import get
from homeostat.server.verbs.list import list_objects
from homeostat.server.verbs.patch import patch
from homeostat.server.verbs.subresources import SUBRESOURCE_VERBS, check_subresource
from homeostat.server.verbs.update import update
from homeostat.server.verbs.watch import watch
from homeostat.server.view.answer import one, refusal, require_acceptable
from homeostat.server.write.checks import place_in_namespace
from homeostat.store.base import StoreError

if TYPE_CHECKING:
    from homeostat.server.audit.auditor import Auditor

log = logging.getLogger(__name__)

_READS = frozenset({"list", "watch"})
_MAY_BE_STALE = (NotFoundError, ConflictError, ForbiddenError)
_MAY_BE_UNKNOWN = (UnauthorizedError, ForbiddenError)
_DEPENDS_ON_KINDS = ("/api", "/openapi/")

VERBS = {
    "create": create,
    "get": get,
    "list": list_objects,
    "watch": watch,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": delete_collection,
}

SystemPage = Callable[[Request, User], Awaitable[Reply]]


class App(msgspec.Struct):
    backend: Backend
    authenticator: Authenticator
    authorizer: Authorizer
    reviews: Reviews
    metrics: Metrics
    pages: Callable[[str], SystemPage | None]
    """Finds the handler of a path that is not an object's: `/version`, `/openapi/v3/...`."""
    public_paths: frozenset[str] = frozenset({"/livez", "/readyz", "/healthz", "/version", "/version/"})
    is_open: bool = False
    auditor: Auditor | None = None
    ids: RequestIds = msgspec.field(default_factory=lambda: RequestIds("Audit-Id"))
    deadlines: Deadlines = msgspec.field(default_factory=Deadlines)
    in_flight: InFlight = msgspec.field(default_factory=InFlight)
    flows: Classifier = msgspec.field(default_factory=Classifier)
    large_calls: LargeCalls = msgspec.field(default_factory=LargeCalls)

    def handle(self, request: Request) -> Answer | Awaitable[Answer]:
        answer = run_eagerly(self._answer(request))
        return self.deadlines.keep(answer, partial(self._timed_out, request)) if isinstance(answer, Started) else answer

    def _timed_out(self, request: Request) -> Answer:
        answer = refusal(TimedOutError(f"the request timed out after {self.deadlines.limit_s:g} s"), request)
        with suppress(ApiError):  # it may have waited to be authenticated
            flows, user, path = self.flows, self.user_of(request), parse_path(request.path)
            if path is None:
                answer.lines = flows.classify_page(user, request.method.lower(), request.path).lines
            else:
                answer.lines = flows.classify(user, verb_of(request, path), path).lines
        return answer

    async def _answer(self, request: Request) -> Answer:
        began = perf_counter()
        labels = ("", "", "")
        user: User | None = None
        flow: Flow | None = None
        answer: Answer | None = None
        noted: dict[str, str] | None = None if self.auditor is None else {}
        try:
            if not is_imported(LIBRARY) and may_be_signed(request.headers.get("authorization", "")):
                await import_in_thread(LIBRARY)
            try:
                if "impersonate-user" in request.headers and self.authorizer.rbac.has_many:
                    user = await self._user_soon(request)
                else:
                    user = self.user_of(request)
            except _MAY_BE_UNKNOWN:
                user = await self._authenticate_again(request)
            path = parse_path(request.path)
            if path is None:
                flow = self.flows.classify_page(user, request.method.lower(), request.path)
                answer = await self._page(request, user, flow)
                return answer
            verb = verb_of(request, path)
            flow = self.flows.classify(user, verb, path)
            seen: int | None = self.backend.store.revision
            while True:
                try:
                    kind = self._resolve(request, path, verb)
                    labels = (verb, kind.group_resource, path.subresource)
                    answer = await self._call(request, user, kind, path, noted, verb=verb, flow=flow)
                    break
                except _MAY_BE_STALE:
                    if seen is None or not await self._was_stale(seen):
                        raise
                    seen = None
            return answer
        except ApiError as error:
            answer = refusal(error, request)
            return answer
        except StoreError as error:
            answer = refusal(UnavailableError(f"the store is unavailable: {error}", retry_after_s=1), request)
            return answer
        except Exception:
            extra = {"method": request.method, "path": request.path, "request": request.id}
            log.exception("request failed", extra=extra)
            unknown = InternalError(f"internal error; see the log of the server for request {request.id}")
            answer = refusal(unknown, request)
            return answer
        finally:
            seconds = perf_counter() - began
            # A request without an answer was cancelled: it took too long, or the client disconnected.
            code = 504 if answer is None else answer.status
            self.metrics.request(labels, code, seconds)
            if flow is not None and answer is not None:
                answer.lines = flow.lines
            if self.auditor is not None:
                self._audit(self.auditor, request, user, answer, noted, verb=labels[0], code=code, seconds=seconds)

    def _audit(
        self,
        auditor: Auditor,
        request: Request,
        user: User | None,
        answer: Answer | None,
        noted: dict[str, str] | None,
        *,
        verb: str,
        code: int,
        seconds: float,
    ) -> None:
        user = user or User("")
        caller = user
        if user.name and "impersonate-user" in request.headers:
            caller = self._caller(request)
        auditor.record(
            request,
            request.id or id_in(self.ids.line_of(request.headers)),
            requested(request, user, verb),
            caller=caller,
            code=code,
            answer=answer,
            seconds=seconds,
            annotations=noted or {},
        )

    async def _was_stale(self, seen: int) -> bool:
        """Whether this replica refused a request on state older than what another replica has acknowledged."""
        store = self.backend.store
        return store.is_shared and await store.sync() > seen

    async def _authenticate_again(self, request: Request) -> User:
        """Authenticate again after a sync: another replica may have acknowledged the account or its permissions."""
        if self.backend.store.is_shared:
            await self.backend.store.sync()
        return await self._user_soon(request)

    async def _user_soon(self, request: Request) -> User:
        """As `user_of`; decisions on an impersonation that take long are made in a thread."""
        user = self._caller(request)
        wanted = impersonation(request.headers, user)
        if wanted is None:
            return user
        for check in wanted.checks:
            await self.authorizer.require_soon(check)
        return wanted.user

    def user_of(self, request: Request) -> User:
        user = self._caller(request)
        wanted = impersonation(request.headers, user)
        if wanted is None:
            return user
        for check in wanted.checks:
            self.authorizer.require(check)
        return wanted.user

    def _caller(self, request: Request) -> User:
        """The authenticated user. A connection inside the process names its user itself."""
        own: User | None = request.connection.get("user")
        if own is not None:
            return own
        if not self.is_open:
            return self.authenticator.authenticate(request.headers, request.peer.certificate, request.connection)
        refused = refusal_of(request.method, request.headers)
        if refused:
            raise ForbiddenError(refused)
        return OPEN

    async def _page(self, request: Request, user: User, flow: Flow) -> Reply:
        if "timeout=" in request.query:
            check_timeout(parse_qs(request.query).get("timeout", [""])[0])
        if request.path not in self.public_paths:
            await self.authorizer.require_soon(Attributes(user=user, verb=request.method.lower(), path=request.path))
        page = self.pages(request.path)
        if page is None:
            raise NotFoundError("the server could not find the requested resource")
        if request.method not in {"GET", "HEAD"}:
            raise MethodNotAllowedError(f"{request.method} is not supported on {request.path}")
        if self.backend.store.is_shared and request.path.startswith(_DEPENDS_ON_KINDS):
            await self.backend.store.sync()  # Another replica may have acknowledged a definition.
        level = flow.level
        if level is None:
            return await page(request, user)
        if not level.enter():
            await level.turn(flow.key)
        try:
            return await page(request, user)
        finally:
            level.leave()

    def _resolve(self, request: Request, path: ObjectPath, verb: str) -> Kind:
        kind = self.backend.registry.find(path.group, path.version, path.plural)
        if kind is None or (path.namespace and not kind.namespaced):
            raise NotFoundError("the server could not find the requested resource")
        if path.subresource:
            check_subresource(kind, path.subresource)
        is_known = (path.subresource, verb) in SUBRESOURCE_VERBS if path.subresource else verb in kind.verbs
        if not is_known or (verb == "create" and path.name and not path.subresource):
            raise MethodNotAllowedError(
                f"{request.method} is not supported on this path of {kind.group_resource}", kind=kind.plural
            )
        if kind.namespaced and not path.namespace and verb not in {"list", "watch"}:
            raise MethodNotAllowedError(f"{kind.group_resource} are namespaced: the path must contain a namespace")
        return kind

    async def _call(
        self,
        request: Request,
        user: User,
        kind: Kind,
        path: ObjectPath,
        noted: dict[str, str] | None,
        *,
        verb: str,
        flow: Flow,
    ) -> Answer:
        if not user.is_master:
            # A selector limits what is read, and never what is created or deleted.
            is_selected = not path.name and verb in _READS
            named = path._replace(name=selected(request.query, "metadata.name")) if is_selected else path
            attributes = attributes_of(user, verb, kind, named)
            if user.name.startswith(NODE_PREFIX):
                attributes = await self._of_node(request, attributes)
            await self.authorizer.require_soon(attributes)
        headers, subresource = request.headers, path.subresource
        call = Call(
            backend=self.backend,
            kind=kind,
            path=path,
            user=user,
            options=options_of(request, path, verb),
            body=request.body,
            content_type=headers.get("content-type", ""),
            user_agent=headers.get("user-agent", ""),
            representation=negotiate(headers.get("accept", "")),
            accepts_gzip="gzip" in headers.get("accept-encoding", ""),
            subresource=subresource,
            annotations=noted,
        )
        if call.representation is not PLAIN:
            require_acceptable(call, verb)
        if kind.deprecation:
            call.warnings.append(kind.deprecation)
        run: Verb
        if kind.compute is not None:
            run = read_computed
        elif not kind.is_stored:
            require_small_body(call)
            call.representation = negotiate(headers.get("accept", ""), is_plain=True)
            run = self._review
        else:
            run = SUBRESOURCE_VERBS[subresource, verb] if subresource else VERBS[verb]
        if verb == "watch":
            return await run(call)
        size = size_of(call, verb)
        if size < COUNTED_BYTES or user is SELF:
            return await self._in_turn(call, run, verb, flow)
        async with self.large_calls.started(user.name, size):
            return await self._in_turn(call, run, verb, flow)

    async def _in_turn(self, call: Call, run: Verb, verb: str, flow: Flow) -> Answer:
        lane: Lane | Level | None = flow.level
        objects: ObjectLanes | None = None
        if verb in CHANGING and call.path.name:
            # First, so that a crowd on one object does not take all places.
            objects, key = self.in_flight.objects, (call.key, lane)
            if not objects.enter(key):
                await objects.turn(key)
        try:
            if lane is None:
                lane = self.in_flight.lane(verb)
            if not lane.enter():
                await lane.turn(flow.key)
            try:
                if call.body and "yaml" in call.content_type:
                    await settle_body(call)
                return await run(call)
            except ApiError as error:
                error.warnings = tuple(call.warnings)
                raise
            finally:
                lane.leave()
        finally:
            if objects is not None:
                objects.leave(key)

    async def _of_node(self, request: Request, attributes: Attributes) -> Attributes:
        """The attributes of a kubelet's call, when its objects can be decided on."""
        if self.authorizer.nodes is not None:
            await self.authorizer.nodes.prepare()
        return msgspec.structs.replace(attributes, selected_nodes=selected_nodes(request.query))

    async def _review(self, call: Call) -> Answer:
        obj = read_object(call)
        place_in_namespace(call, obj["metadata"])
        if call.kind.kind == "TokenReview":
            await import_in_thread(LIBRARY)
        elif self.authorizer.nodes is not None and text(struct(obj, "spec"), "user").startswith(NODE_PREFIX):
            await self.authorizer.nodes.prepare()

        def answer() -> bytes:
            return encode(self.reviews.answer(call.kind.kind, obj, user=call.user, namespace=call.namespace))

        # A user may have tens of thousands of rules.
        is_long = call.kind.kind == "SelfSubjectRulesReview" or self.authorizer.rbac.has_many
        return one(call, await in_thread(answer, user=call.user.name) if is_long else answer(), status=201)
