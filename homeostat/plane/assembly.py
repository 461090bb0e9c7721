"""Builds the server and its parts over a store."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from homeostat import __version__
from homeostat.edge.reply import Reply
from homeostat.edge.server import Server
from homeostat.edge.threads import in_thread
from homeostat.objects.errors import UnavailableError, error_of, status_of
from homeostat.objects.json import JsonObject, decode_stored, encode
from homeostat.operators.catalog import operator_name, shipped_definition
from homeostat.plane.background import LEASES
from homeostat.plane.metrics import measure
from homeostat.plane.plane import Plane
from homeostat.plane.settings import Settings
from homeostat.plane.storage import PlaneStore
from homeostat.plane.token_tracking import TokenTracking
from homeostat.runtime.supervisor import Supervisor
from homeostat.server.access.authn import Authenticator
from homeostat.server.access.authz import Authorizer
from homeostat.server.access.nodes.authorizer import Nodes
from homeostat.server.access.rbac.authorizer import Rbac
from homeostat.server.access.rbac.role_watch import follow_roles
from homeostat.server.access.reviews import Reviews
from homeostat.server.access.signers import certified
from homeostat.server.access.tokens.file import Tokens
from homeostat.server.access.tokens.request import answer_token_request
from homeostat.server.access.tokens.service_account import AccountTokens
from homeostat.server.admission.chain import AdmissionChain
from homeostat.server.admission.plugins.node_restriction import restrict_token
from homeostat.server.admission.webhooks.client import WebhookClient
from homeostat.server.app import App
from homeostat.server.components import component_statuses
from homeostat.server.conversion.conversions import Conversions
from homeostat.server.discovery.catalog import Catalog
from homeostat.server.flow_control.classifier import Classifier
from homeostat.server.flow_control.figures import FlowFigures
from homeostat.server.health import Health
from homeostat.server.kinds.custom.definition import builtin_behaviours
from homeostat.server.kinds.custom.serving import Definitions
from homeostat.server.kinds.registry import Registry, builtin_kinds
from homeostat.server.metrics import Metrics
from homeostat.server.pages import Pages, hosted_info, version_info
from homeostat.server.pki.directory import Pki, PkiError, sign_certificate
from homeostat.server.request.call import Backend, Call
from homeostat.server.services.allocator import Allocator
from homeostat.server.services.ranges import AddressRange
from homeostat.server.uid import new_uid
from homeostat.server.verbs.watch import Watches
from homeostat.server.view.answer import refusal
from homeostat.server.view.encode import uid_of
from homeostat.store.base import Key, Store

if TYPE_CHECKING:
    from homeostat.server.audit.auditor import Auditor

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


async def assemble(settings: Settings, pki: Pki, store: PlaneStore) -> Plane:
    """The files of `pki` are not read before the first request that needs one."""
    registry, watches, metrics = Registry(), Watches(), Metrics()
    supervisors: list[Supervisor] = []
    registry.add(builtin_kinds(builtin_behaviours(registry, shipped_definition)))
    await Definitions(registry, watches).follow(store)
    registry.add([component_statuses(partial(_problem, store))])
    rbac, flows = Rbac(), Classifier()
    await follow_roles(store, rbac)
    await flows.follow(store)
    authorizer = Authorizer(rbac, Nodes(store))
    tracking = TokenTracking(time.time)
    accounts = _accounts(pki, store, tracking)
    authenticator = Authenticator(tokens=Tokens(settings.data / "tokens.json"), accounts=accounts, clock=time.time)

    webhooks = WebhookClient()
    admission, conversions = AdmissionChain(authorizer, registry, webhooks), Conversions(webhooks, store, new_uid)
    backend = Backend(
        store=store,
        registry=registry,
        admission=admission,
        conversions=conversions,
        watches=watches,
        clock=time.time,
        new_uid=new_uid,
        random_suffix=lambda: "".join(random.choices(_SUFFIX_LETTERS, k=5)),  # noqa: S311
        require=authorizer.require_soon,
        authorize=authorizer.authorize,
        issue_token=_issuing(accounts),
        certify=_certifying(pki),
        allocator=Allocator(store, AddressRange(settings.service_cidr)),
    )
    pages = Pages(
        Catalog(registry),
        metrics,
        version=version_info(__version__),
        hosted=lambda: _hosted(settings, supervisors, is_paused=store.is_restored),
        health=_health(store),
        jwks=accounts.jwks,
        issuer=accounts.issuer,
    )
    app = App(
        backend=backend,
        authenticator=authenticator,
        authorizer=authorizer,
        reviews=Reviews(authorizer, authenticator),
        metrics=metrics,
        pages=pages.find,
        is_open=settings.is_open,
        auditor=_auditor(settings, metrics),
        flows=flows,
    )
    metrics.include(FlowFigures(flows.seats))
    measure(metrics, settings, pki, store, watches)
    return Plane(
        settings, store, app, watches, admission, conversions, accounts, supervisors, tracking, _server(settings, app)
    )


def _server(settings: Settings, app: App) -> Server:
    """It does not listen yet."""
    return Server(app.handle, settings.limits, _refuse, app.ids)


def _problem(store: PlaneStore) -> str:
    return f"the store refuses writes: {store.trouble}" if store.trouble else ""


def _accounts(pki: Pki, store: PlaneStore, tracking: TokenTracking) -> AccountTokens:
    read = pki.account_key.read_bytes
    return AccountTokens(read, uid_of=_uids(store), read=_objects(store), new_id=new_uid, note_use=tracking.note)


def _health(store: PlaneStore) -> Health:
    return Health(partial(_problem, store), lambda resource, name: store.get(Key(resource, "", name)) is not None)


def _issuing(accounts: AccountTokens) -> Callable[[Call, JsonObject], JsonObject]:
    def issue_token(call: Call, obj: JsonObject) -> JsonObject:
        restrict_token(call, obj)
        return answer_token_request(accounts, obj, namespace=call.namespace, name=call.name, now=time.time())

    return issue_token


def _certifying(pki: Pki) -> Callable[[Call, JsonObject], Awaitable[JsonObject]]:
    def sign(request: bytes, usages: Sequence[str], seconds: int | None) -> bytes:
        return sign_certificate(pki, request, usages, seconds=seconds, now=datetime.now(UTC))

    async def certify(call: Call, obj: JsonObject) -> JsonObject:
        try:
            return await in_thread(lambda: certified(obj, sign, call.timestamp()), user=call.user.name)
        except PkiError as error:
            raise UnavailableError(f"the request was not approved: {error}") from error

    return certify


def _auditor(settings: Settings, metrics: Metrics) -> Auditor | None:
    if settings.audit_log is None:
        return None
    from homeostat.server.audit.auditor import Auditor
    from homeostat.server.audit.log import AuditLog
    from homeostat.server.audit.policy import DEFAULT

    log = AuditLog(settings.audit_log)
    metrics.gauge("homeostat_audit_events", "Audit events written since the start", lambda: log.written)
    metrics.gauge("homeostat_audit_dropped", "Audit events that could not be written", lambda: log.dropped)
    return Auditor(settings.audit_policy or DEFAULT, log)


def _hosted(settings: Settings, supervisors: Sequence[Supervisor], *, is_paused: bool) -> JsonObject:
    operators = sorted(map(operator_name, settings.operators))
    asleep = {each.description.name for each in supervisors if not each.is_awake}
    awake = [each for each in operators if each not in asleep]
    leases = LEASES if settings.is_shared else ""
    return hosted_info(operators, awake, leases=leases, are_effects_paused=is_paused)


def _uids(store: Store) -> Callable[[str, str, str], str | None]:
    def uid(resource: str, namespace: str, name: str) -> str | None:
        record = store.get(Key(resource, namespace, name))
        return uid_of(record) if record else None

    return uid


def _objects(store: Store) -> Callable[[str, str, str], JsonObject | None]:
    def read(resource: str, namespace: str, name: str) -> JsonObject | None:
        record = store.get(Key(resource, namespace, name))
        return decode_stored(record.value) if record else None

    return read


def _refuse(code: int, message: str) -> Reply:
    error = error_of({"code": code, "message": message})
    if error.code == code:
        return refusal(error)
    # HTTP has status codes that Kubernetes has no error for.
    reason = HTTPStatus(code).phrase.replace(" ", "")
    return Reply(code, encode({**status_of(error), "reason": reason, "code": code}))
