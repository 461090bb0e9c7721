"""What the repository declares for a resource: its payload over defaults, with files and secrets in place."""

from __future__ import annotations

import base64
from contextlib import suppress
from dataclasses import dataclass

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.errors import ConflictError, NotFoundError, SyncError, ValidationError, of
from homeostat.operators.sync.engine.lists.items import COMMON_IDS, identity_of
from homeostat.operators.sync.engine.metadata.defaults import with_defaults
from homeostat.operators.sync.engine.metadata.externalized import include
from homeostat.operators.sync.engine.metadata.rules import Rules
from homeostat.operators.sync.engine.paths.logical import name, parent, segments
from homeostat.operators.sync.engine.payload.codec import Payload, decode
from homeostat.operators.sync.engine.payload.format import Descriptor
from homeostat.operators.sync.engine.payload.pointer import leaves, parse
from homeostat.operators.sync.engine.payload.value import text_of
from homeostat.operators.sync.engine.secrets.keys import attribute_key, normal_key
from homeostat.operators.sync.engine.secrets.placeholders import (
    OWN,
    WHOLE_PREFIX,
    Placeholder,
    hidden,
    needed,
    resolved,
    with_form,
)
from homeostat.operators.sync.engine.tree.directory import Directory
from homeostat.operators.sync.engine.tree.listing import children, read_payload
from homeostat.operators.sync.offload import computed
from homeostat.operators.sync.session.session import Session


@dataclass(frozen=True, slots=True)
class Desired:
    path: str
    rules: Rules
    payload: Payload
    wire: Descriptor
    """The format that is sent."""
    alias: str
    id: str
    """Empty if only the server knows it."""
    secrets: tuple[str, ...] = ()
    """Pointers of attributes that nobody may see."""
    declared: Json = None
    """The value with placeholders in place of secrets."""

    @property
    def value(self) -> Json:
        return self.payload.value


def local_payload(session: Session, path: str) -> Payload | None:
    """As declared: over its defaults, with its files, and with placeholders of secrets."""
    directory = session.root.at(segments(path))
    payload = read_payload(directory, path) if directory is not None else None
    return complete(session, path, payload) if payload is not None else None


def hidden_value(session: Session, path: str, value: Json) -> Json:
    """With placeholders for all that metadata declares as secret, and for all that the file has placeholders for."""
    rules, directory = session.metadata.rules(path), session.root.at(segments(path))
    with suppress(SyncError):
        local = read_payload(directory, path) if directory is not None else None
        places = needed(local.value) if local is not None else {}
        session.secret_names |= {parse(each)[-1] for each in places if each}
        return hidden(value, (*rules.secret_attributes, *places), is_secret=rules.is_secret)
    return hidden(value, rules.secret_attributes, is_secret=rules.is_secret)


def complete(session: Session, path: str, payload: Payload) -> Payload:
    return _completed(session.metadata.rules(path), session.root.at(segments(path)), payload)


def _completed(rules: Rules, directory: Directory | None, payload: Payload) -> Payload:
    value = payload.value
    if payload.form.is_structured and value != OWN:
        _check_types(rules, payload)
        value = with_defaults(value, rules.defaults)
        if rules.externalized:
            value = include(value, rules.externalized, directory.files.get if directory is not None else lambda _: None)
    return Payload(value, payload.form)


def _check_types(rules: Rules, payload: Payload) -> None:
    """Properties hold texts only, so their defaults have to be properties, too."""
    for each in rules.defaults_types:
        if (each == "properties") != (payload.form.type == "properties"):
            raise ValidationError(f"the payload is {payload.form.type} and its defaults are {each}; use one type")


def find_local(session: Session, path: str) -> str | None:
    """The resource of this path; else the one in its collection with this alias, id or name."""
    directory = session.root.at(segments(path))
    if directory is not None and read_payload(directory, path) is not None:
        return path
    wanted, found = name(path), list[str]()
    for each in children(session.root, parent(path)):
        payload = local_payload(session, each)
        if payload is None or not isinstance(payload.value, dict):
            continue
        names = {*identity_of(session.metadata.rules(each), payload.value)}
        names |= {text_of(payload.value.get(key)) or "" for key in COMMON_IDS}
        if wanted in names:
            found.append(each)
    if len(found) > 1:
        raise ConflictError(f"{path} is ambiguous: {', '.join(found)} have this name")
    return found[0] if found else None


async def desired(session: Session, path: str, given: Payload | None = None) -> Desired:
    """`given` stands in for the payload of the repository."""
    try:
        payload = await _declared(session, path, given)
        if payload is None:
            raise NotFoundError(f"no local resources found under {path}")
        rules = session.metadata.rules(path)
        value, secrets = await _with_secrets(session, path, payload)
        alias, identity = _identities(rules, path, value)
        sent, wire = Payload(value, payload.form), _wire(rules, payload.form)
        return Desired(path, rules, sent, wire, alias, identity, secrets, payload.value)
    except SyncError as error:
        raise of(path, error) from error


async def _declared(session: Session, path: str, given: Payload | None) -> Payload | None:
    rules, directory = session.metadata.rules(path), session.root.at(segments(path))
    if given is not None:
        return await computed(lambda: _completed(rules, directory, given), given.value)
    if directory is None:
        return None

    def read() -> Payload | None:
        found = read_payload(directory, path)
        return None if found is None else _completed(rules, directory, found)

    return await computed(read, *directory.files.values())


def _identities(rules: Rules, path: str, value: Json) -> tuple[str, str]:
    """A template that is one plain pointer falls back: the alias to the name of the path, the id to the alias."""
    found_alias, found_id = "", ""
    for each in ("alias", "id"):
        template = rules.alias if each == "alias" else rules.id
        try:
            text = template.render(value)
        except ValidationError:
            if not template.plain and isinstance(value, dict) and each == "alias":
                raise
            text = ""
        if each == "alias":
            found_alias = text or name(path)
        else:
            found_id = text
    return found_alias, found_id or (found_alias if rules.has_one_identity else "")


def _wire(rules: Rules, form: Descriptor) -> Descriptor:
    """Structured payloads are sent in the format that metadata names."""
    if rules.form is None or rules.form.type == form.type:
        return form
    return rules.form if rules.form.is_structured and form.is_structured else form


async def with_secrets(session: Session, path: str, payload: Payload) -> Json:
    """The value with the secrets of the store; `ValidationError` if it needs some and there is no store."""
    if session.store is None and (payload.value == OWN or needed(payload.value)):
        raise ValidationError("the context has no secretStore; set secretStore in the context to show secrets")
    return (await _with_secrets(session, path, payload))[0]


async def _with_secrets(session: Session, path: str, payload: Payload) -> tuple[Json, tuple[str, ...]]:
    rules = session.metadata.rules(path)
    value = payload.value
    if value == OWN:
        return await _whole(session, path, payload), ("",)
    if not payload.form.is_structured:
        return value, ("",) if rules.is_secret else ()
    value, places = await computed(lambda: _with_places(payload), value)
    session.secret_names |= {parse(each)[-1] for each in places}
    secrets = (*places, *rules.secret_attributes, *(("",) if rules.is_secret else ()))
    if session.store is None or not places:
        return value, secrets
    known = dict[str, str]()
    for at, placeholder in places.items():
        key = placeholder.key(path, at)
        if key not in known:
            known[key] = await read_secret(session, key)
    return await computed(lambda: resolved(value, path, known.__getitem__), value), secrets


def _with_places(payload: Payload) -> tuple[Json, dict[str, Placeholder]]:
    value = with_form(payload.value, payload.form)
    return value, needed(value)


async def _whole(session: Session, path: str, payload: Payload) -> Json:
    if session.store is None:
        return payload.value
    text = await session.secrets.get(normal_key(attribute_key(path, ".")))
    data = base64.b64decode(text.removeprefix(WHOLE_PREFIX)) if text.startswith(WHOLE_PREFIX) else text.encode()
    value = decode(data, payload.form)
    shown = {*_identities(session.metadata.rules(path), path, value), *segments(path)}
    if isinstance(value, str):
        session.scrubber.hide(value)
    texts = {each for _, leaf in leaves(value) if isinstance(leaf, str) for each in (leaf, *leaf.splitlines())}
    session.scrubber.hide_parts({text, *(texts - shown)})
    return value


async def read_secret(session: Session, key: str) -> str:
    found = await session.secrets.get(normal_key(key))
    session.scrubber.hide(found)
    return found
