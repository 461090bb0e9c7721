"""Creates, updates and deletes one object of the server, after everything that metadata asks to check."""

from __future__ import annotations

from dataclasses import dataclass, replace

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.compare.difference import hide_at
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.lists.items import identity_of
from homeostat.operators.sync.engine.metadata.call import Call, Place, scope_of
from homeostat.operators.sync.engine.openapi.use import check_body, media_of_body
from homeostat.operators.sync.engine.paths.logical import parent
from homeostat.operators.sync.engine.paths.variables import variables
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.payload.codec import Payload, wrapped
from homeostat.operators.sync.engine.payload.pointer import MISSING
from homeostat.operators.sync.engine.templates.scope import render_value
from homeostat.operators.sync.offload import computed
from homeostat.operators.sync.session.desired import Desired
from homeostat.operators.sync.session.remote import Remote, read_resource, render
from homeostat.operators.sync.session.session import Session
from homeostat.operators.sync.session.transform import check_assertions, transformed


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a resource, in the form that the original prints."""

    path: str
    alias: str
    remote_id: str
    remote_path: str
    payload: Payload
    status: int = 0
    location: str = ""
    secrets: tuple[str, ...] = ()
    """Pointers of attributes that nobody may see."""

    @property
    def entry(self) -> JsonObject:
        form, shown = self.payload.form, wrapped(self.payload)
        for each in self.secrets:
            shown = hide_at(shown, each)
        return {
            "LogicalPath": self.path,
            "CollectionPath": parent(self.path),
            "LocalAlias": self.alias,
            "RemoteID": self.remote_id,
            "ResolvedRemotePath": self.remote_path,
            "Payload": shown,
            "PayloadDescriptor": {"PayloadType": form.type, "MediaType": form.media, "Extension": form.extension},
        }


async def create(session: Session, wanted: Desired, *, method: str = "") -> Written:
    return await _send(session, wanted, "create", Remote(), method)


async def update(session: Session, wanted: Desired, remote: Remote, *, method: str = "") -> Written:
    return await _send(session, wanted, "update", remote, method)


async def described(session: Session, wanted: Desired, remote: Remote) -> Written:
    """An object that is equal already, in the same form."""
    place = Place(path=wanted.path, alias=wanted.alias, remote_id=remote.id or wanted.id)
    call = await render(session, wanted.rules, "update", place, _addressed(wanted, remote), wanted.wire)
    known = remote.id or wanted.id or wanted.alias
    shown = Payload(remote.value, wanted.wire)
    return Written(wanted.path, wanted.alias, known, call.path, shown, secrets=wanted.secrets)


async def _send(session: Session, wanted: Desired, operation: str, remote: Remote, method: str) -> Written:
    check_required(wanted, operation, remote)
    rules, chosen = wanted.rules, wanted.rules.operations[operation]
    place = Place(path=wanted.path, alias=wanted.alias, remote_id=remote.id or wanted.id)
    source = _addressed(wanted, remote)
    call = await render(session, rules, operation, place, source, wanted.wire)
    call = replace(call, method=method.upper()) if method else call
    body = await _body(session, wanted, operation, place)
    if chosen.validate is not None:
        await _validate(session, wanted, operation, call, body)
    if remote.etag and operation == "update":
        call = replace(call, headers={"If-Match": remote.etag, **call.headers})
    form = replace(wanted.wire, media=media_of_body(session.openapi, call, wanted.wire))
    answer = await session.remote.ask(call, expected=wanted.wire, accept=wanted.wire.media, body=Payload(body, form))
    got = answer.payload.value
    session.remember(parent(wanted.path), got, rules)
    identity = identity_of(rules, got)[1] if isinstance(got, dict) else ""
    shown = answer.payload if got is not None and got != b"" else Payload(body, wanted.wire)
    known = identity or remote.id or wanted.id or wanted.alias
    return Written(
        wanted.path, wanted.alias, known, call.path, shown, answer.status, answer.location, wanted.secrets
    )  # fmt: skip


def check_required(wanted: Desired, operation: str, remote: Remote) -> None:
    """Before anything is sent: attributes that metadata requires, and those that identities are made of."""
    if not isinstance(wanted.value, dict):
        return
    for each in wanted.rules.required:
        if pointer.get(wanted.value, each) in (MISSING, None, ""):
            raise ValidationError(f"attribute {each} is required, and is missing or empty")
    if not wanted.rules.alias.plain:
        wanted.rules.alias.render(wanted.value)
    if operation != "create" and not wanted.rules.id.plain and not remote.id:
        wanted.rules.id.render(wanted.value)


def _addressed(wanted: Desired, remote: Remote) -> Json:
    """The payload as templates of paths see it: with the id that the object has on the server."""
    plain = wanted.rules.id.plain
    if not remote.id or not plain or not isinstance(wanted.value, dict):
        return wanted.value
    return wanted.value if pointer.get(wanted.value, plain) is MISSING else pointer.put(wanted.value, plain, remote.id)


async def _body(session: Session, wanted: Desired, operation: str, place: Place) -> Json:
    chosen = wanted.rules.operations[operation]
    scope = scope_of(wanted.rules, place, wanted.value, wanted.wire)
    body = wanted.value if chosen.body is MISSING else render_value(chosen.body, scope)
    if chosen.transforms and not isinstance(body, bytes | str):
        read = lambda each: read_resource(session, each)  # noqa: E731
        (body,) = await transformed(session.jq, chosen.transforms, [body], read, scope)
    return body


async def _validate(session: Session, wanted: Desired, operation: str, call: Call, body: Json) -> None:
    """On the outgoing body with the fields that the path gives, which are not sent."""
    validate = wanted.rules.operations[operation].validate
    assert validate is not None
    await check_assertions(session.jq, validate, body)
    if validate.schema:
        item = session.openapi.item(call.path) if session.openapi is not None else None
        known = variables(call.path, [item.template.replace("{", "{{/").replace("}", "}}")] if item else ())
        names = set(session.openapi.properties(_of(session, call))) if session.openapi and item else set[str]()
        filled = {key: value for key, value in known.items() if key in names}
        sent = {**filled, **body} if isinstance(body, dict) else body
        await computed(lambda: check_body(session.openapi, validate.schema, call, sent), sent)


def _of(session: Session, call: Call) -> JsonObject:
    assert session.openapi is not None
    item = session.openapi.item(call.path)
    bodies = session.openapi.request_bodies(item, call.method) if item is not None else {}
    return bodies.get("application/json") or next(iter(bodies.values()), {})


async def delete(session: Session, path: str, remote: Remote, *, source: Json = None, method: str = "") -> None:
    rules = session.metadata.rules(path)
    place = Place(path=path, alias=remote.alias, remote_id=remote.id)
    call = await render(session, rules, "delete", place, source)
    call = replace(call, method=method.upper()) if method else call
    await session.remote.ask(call, accept="")
    session.forget(parent(path))
