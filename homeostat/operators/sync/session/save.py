"""Writes objects into the repository: secrets replaced by placeholders, long attributes in files of their own.

All objects are checked before the first file is written, so a refused one leaves nothing behind.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.errors import SyncError, ValidationError, of
from homeostat.operators.sync.engine.metadata.defaults import compact
from homeostat.operators.sync.engine.metadata.externalized import externalize
from homeostat.operators.sync.engine.metadata.layers import stored_document
from homeostat.operators.sync.engine.metadata.merge import merged
from homeostat.operators.sync.engine.paths.logical import segments
from homeostat.operators.sync.engine.paths.selector import Selector
from homeostat.operators.sync.engine.payload import pointer, yaml
from homeostat.operators.sync.engine.payload.codec import Payload, encode
from homeostat.operators.sync.engine.payload.format import JSON, Descriptor, by_extension
from homeostat.operators.sync.engine.secrets.detect import detect
from homeostat.operators.sync.engine.secrets.keys import attribute_key, normal_key
from homeostat.operators.sync.engine.secrets.placeholders import OWN, WHOLE_PREFIX, normalized, parse_placeholder
from homeostat.operators.sync.engine.tree.layout import METADATA_FILES, extension, payload_file
from homeostat.operators.sync.session.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveOptions:
    force: bool = False
    allow_plaintext: bool = False
    prune_defaults: bool = False
    is_secret: bool = False
    secret_attributes: tuple[str, ...] | None = None
    """Pointers to store as secrets; empty for all that are detected, None for none but the declared ones."""
    form: Descriptor | None = None
    collection: str = ""
    """Where the payloads are items of this collection, its metadata declares the secrets of all."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What saving an object would write."""

    path: str
    files: dict[str, bytes | None]
    secrets: dict[str, str]
    declared: tuple[str, ...] = ()
    """Pointers of secrets that metadata does not declare so far."""


async def save(session: Session, payloads: Sequence[tuple[str, Payload]], options: SaveOptions) -> list[str]:
    """The names of the files that changed."""
    return await write_prepared(session, prepare(session, payloads, options))


def prepare(session: Session, payloads: Sequence[tuple[str, Payload]], options: SaveOptions) -> list[Prepared]:
    """All of them, or the error of the first that cannot be saved."""
    found = list[Prepared]()
    for path, payload in payloads:
        try:
            found.append(_prepare(session, path, payload, options))
        except SyncError as error:
            raise of(path, error) from error
    if options.collection and (pointers := {at for each in found for at in each.declared}):
        known = session.metadata.rules(options.collection, is_collection=True).secret_attributes
        merged_list = [*known, *sorted(pointers - set(known))]
        selector = Selector(tuple(segments(options.collection)), True)
        files = metadata_files(session, selector, {"resource": {"secretAttributes": merged_list}})
        found.append(Prepared(options.collection, files, {}))
    return found


async def write_prepared(session: Session, prepared: Sequence[Prepared]) -> list[str]:
    """The secrets first, so that no file refers to one that is missing."""
    secrets = {normal_key(key): value for each in prepared for key, value in each.secrets.items()}
    for value in secrets.values():
        session.scrubber.hide(value)
    if secrets:
        await session.secrets.put(secrets)
    files = {name: data for each in prepared for name, data in each.files.items()}
    await session.files.write(files)
    return list(files)


def _prepare(session: Session, path: str, payload: Payload, options: SaveOptions) -> Prepared:
    directory = session.root.at(segments(path))
    existing = payload_file(directory.files) if directory is not None else None
    if existing is not None and not options.force:
        raise ValidationError(f"{path} exists in the repository; pass --force to replace it")
    if payload.value is None:
        return Prepared(path, {f"{path[1:]}/{existing}": None} if existing else {}, {})
    rules = session.metadata.rules(path)
    form = _form(payload, existing, options)
    files = dict[str, bytes | None]()
    if options.is_secret or rules.is_secret:
        value, secrets = payload.value, {attribute_key(path, "."): _whole(payload, form)}
        data = encode(OWN, form) if form.type in ("json", "yaml") else OWN.encode()
        addition: JsonObject = {} if rules.is_secret else {"resource": {"secret": True}}
        new: tuple[str, ...] = ()
    else:
        value, secrets, new = _masked(session, path, payload.value, options)
        declared = {"resource": {"secretAttributes": [*rules.secret_attributes, *new]}}
        addition = declared if new and not options.collection else {}
        if isinstance(value, dict):
            value, sidecars = externalize(value, rules.externalized)
            files |= {f"{path[1:]}/{name}": content for name, content in sidecars.items()}
            value = compact(value, rules.defaults) if options.prune_defaults else value
        data = encode(value, form)
    if secrets and session.store is None:
        raise ValidationError("the context has no secretStore; set secretStore in the context to store secrets")
    files[f"{path[1:]}/resource{form.extension}"] = data
    if existing is not None and existing != f"resource{form.extension}":
        files[f"{path[1:]}/{existing}"] = None
    if addition:
        files |= metadata_files(session, Selector(tuple(segments(path)), False), addition)
    return Prepared(path, files, secrets, new)


def _form(payload: Payload, existing: str | None, options: SaveOptions) -> Descriptor:
    if options.form is not None:
        return options.form
    is_text = isinstance(payload.value, str | bytes)
    if existing is not None:
        found = by_extension(extension(existing))
        if is_text != found.is_structured:
            return found
    return payload.form if is_text or payload.form.type in ("yaml", "json") else JSON


def _masked(
    session: Session, path: str, value: Json, options: SaveOptions
) -> tuple[Json, dict[str, str], tuple[str, ...]]:
    """The value with placeholders, the secrets by key, and the pointers that metadata does not declare so far."""
    if isinstance(value, str | bytes):
        return value, {}, ()
    rules = session.metadata.rules(path)
    value = normalized(value)
    found = detect(value)
    wanted = options.secret_attributes
    chosen = () if wanted is None else (wanted or tuple(found))
    for each in chosen:
        if pointer.get(value, each) is pointer.MISSING and not options.collection:
            raise ValidationError(f"attribute {each} of --secret-attributes is missing in the payload")
    secrets = dict[str, str]()
    for each in dict.fromkeys((*rules.secret_attributes, *chosen)):
        item = pointer.get(value, each)
        if isinstance(item, str) and parse_placeholder(item) is None:
            secrets[attribute_key(path, each)] = item
            value = pointer.put(value, each, OWN)
    left = [each for each in detect(value) if isinstance(pointer.get(value, each), str)]
    if left and not options.allow_plaintext:
        raise ValidationError(
            f"attributes look like plain secrets: {', '.join(left)}; pass --secret-attributes to store them, "
            "or --allow-plaintext to write them as they are"
        )
    new = (each for each in chosen if each not in rules.secret_attributes)
    return value, secrets, tuple(each for each in new if pointer.get(value, each) is not pointer.MISSING)


def _whole(payload: Payload, form: Descriptor) -> str:
    data = encode(payload.value, form)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return WHOLE_PREFIX + base64.b64encode(data).decode()


def metadata_files(session: Session, selector: Selector, addition: JsonObject) -> dict[str, bytes | None]:
    """The document of an address with an addition."""
    stored = stored_document(session.root, selector) or {}
    selected = {"selector": stored["selector"]} if "selector" in stored else {}
    return document_files(session, selector, {**selected, **merged(stored, addition)})


def document_files(session: Session, selector: Selector, document: JsonObject | None) -> dict[str, bytes | None]:
    """In YAML; other forms of the document are deleted."""
    directory = session.root.at([each for each in selector.directory.split("/") if each])
    present = set(directory.files) if directory is not None else set[str]()
    files: dict[str, bytes | None] = {
        f"{selector.directory}/{name}": None for name in METADATA_FILES if name in present
    }
    if document is not None:
        files[f"{selector.directory}/metadata.yaml"] = yaml.dump(document, is_sorted=False)
    return files
