"""`/dashboard/objects/create`: creates an object from a manifest that somebody types or pastes.

The text says what is created; `group` and `plural` in the query choose the template that the form starts with. The
preview is a dry run on the server, with the permissions of the visitor: defaults, validation and admission included.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final, NamedTuple
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from homeostat.client.base import Client
from homeostat.objects.edit import InvalidTextError, read_manifest
from homeostat.objects.errors import ApiError, UnauthorizedError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.web.dashboard.form import read_form
from homeostat.web.dashboard.html.command import shell
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.objects.access import may
from homeostat.web.dashboard.objects.commands import command_lines
from homeostat.web.dashboard.objects.forms.difference import QUICK_BYTES, difference
from homeostat.web.dashboard.objects.forms.manifest import (
    LARGEST_FORM,
    MANAGER,
    alert,
    manifest_form,
    preview_form,
)
from homeostat.web.dashboard.objects.forms.template import blank, document_path, template
from homeostat.web.dashboard.objects.index import TITLE
from homeostat.web.dashboard.objects.kinds import CORE, HERE, ServedKinds, kind_path, object_path
from homeostat.web.dashboard.objects.large import computed
from homeostat.web.dashboard.objects.shown import as_yaml
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query
from homeostat.web.kit.refusal import forbidden

CREATE: Final = f"{HERE}/create"
_UNTIL_MADE: Final = ("uid", "creationTimestamp")
"""A dry run makes them up."""
_EMPTY: Final = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ''\n  namespace: {namespace}\ndata: {{}}\n"


class Wanted(msgspec.Struct, frozen=True):
    """The kind of the template, and the namespace of an object that names none."""

    group: Annotated[str, Meta(max_length=253)] = ""
    plural: Annotated[str, Meta(max_length=253)] = ""
    version: Annotated[str, Meta(max_length=63)] = ""
    namespace: Annotated[str, Meta(max_length=253)] = ""

    @property
    def page(self) -> str:
        given = {name: value for name, value in msgspec.structs.asdict(self).items() if value}
        return f"{CREATE}?{urlencode(given)}" if given else CREATE


class _New(NamedTuple):
    """An object to create, and where."""

    kind: Kind
    namespace: str
    manifest: JsonObject


def create_path(kind: Kind, namespace: str = "", version: str = "") -> str:
    return Wanted(kind.group or CORE, kind.plural, version, namespace if kind.is_namespaced else "").page


async def create_link(client: Client, kind: Kind, namespace: str, version: str = "") -> Node:
    """None for who may not create objects of the kind there."""
    if "create" not in kind.verbs or not await may(client, "create", kind, namespace):
        return None
    return el("a", f"Create {kind.kind}", href=create_path(kind, namespace, version), class_="button")


class CreatePage:
    def __init__(self, client: Client, kinds: ServedKinds) -> None:
        self._client, self._kinds = client, kinds

    async def show(self, visit: Visit) -> Page:
        wanted, client = read_query(visit.request, Wanted), visit.client(self._client)
        kind = await self._kind(wanted)
        if kind is None:
            return _form(visit, wanted, kind, _EMPTY.format(namespace=wanted.namespace or "default"))
        if not await may(client, "create", kind, wanted.namespace):
            where = f" in {wanted.namespace}" if wanted.namespace and kind.is_namespaced else ""
            raise forbidden(f"You are not allowed to create {kind.kind} objects{where}.")
        return _form(visit, wanted, kind, as_yaml(await _template(visit, client, kind, wanted.namespace)))

    async def take(self, visit: Visit) -> str | Page:
        wanted, client = read_query(visit.request, Wanted), visit.client(self._client)
        form = await computed(visit, len(visit.request.body), lambda: read_form(visit.request, LARGEST_FORM))
        text, step = form.get("text", "").replace("\r\n", "\n"), form.get("step", "preview")
        kind = await self._kind(wanted)
        if step == "edit":
            return _form(visit, wanted, kind, text)
        try:
            manifest = await computed(visit, len(text), lambda: read_manifest(text, limit=LARGEST_FORM))
            new = await self._new(manifest, wanted)
            made = await _send(client, new, is_dry=step != "apply")
        except InvalidTextError as error:
            return _form(visit, wanted, kind, text, str(error))
        except UnauthorizedError:
            raise
        except ApiError as error:
            # A form that is shown again keeps what was written: a permission, a policy or a quota may refuse it.
            return _form(visit, wanted, kind, text, error)
        if step == "apply":
            return object_path(new.kind, new.namespace, str(made["metadata"]["name"]))
        compare = partial(difference, new.kind, {"metadata": {}}, _as_shown(made))
        shown = await computed(visit, len(text), compare, quick_bytes=QUICK_BYTES)
        return _preview(visit, wanted, new, text, shown)

    async def _kind(self, wanted: Wanted) -> Kind | None:
        return await self._kinds.find(wanted.group, wanted.plural, wanted.version) if wanted.plural else None

    async def _new(self, manifest: JsonObject, wanted: Wanted) -> _New:
        version, name = (manifest.get(each) for each in ("apiVersion", "kind"))
        found = await self._kinds.named(str(version), str(name))
        if found is None:
            raise InvalidTextError(f"the server has no kind {name} in {version}; see the page Objects for its kinds")
        metadata = manifest["metadata"]
        if not found.is_namespaced:
            return _New(found, "", manifest)
        namespace = str(metadata.get("namespace") or wanted.namespace or "default")
        return _New(found, namespace, {**manifest, "metadata": {**metadata, "namespace": namespace}})


async def _template(visit: Visit, client: Client, kind: Kind, namespace: str) -> JsonObject:
    try:
        document = await client.fetch("GET", document_path(kind))
        return await computed(visit, len(document), lambda: template(document, kind, namespace))
    except UnauthorizedError:
        raise
    except (ApiError, msgspec.MsgspecError):
        return blank(kind, namespace)


async def _send(client: Client, new: _New, *, is_dry: bool) -> JsonObject:
    query = {"fieldManager": MANAGER, "fieldValidation": "Strict", "dryRun": "All" if is_dry else ""}
    return await client.request("POST", new.kind.path(new.namespace), query, body=new.manifest)


def _as_shown(made: JsonObject) -> JsonObject:
    metadata = {name: each for name, each in made["metadata"].items() if name not in _UNTIL_MADE}
    return {**made, "metadata": metadata}


def _form(visit: Visit, wanted: Wanted, kind: Kind | None, text: str, problem: str | ApiError = "") -> Page:
    form = manifest_form(visit, text, {}, action=wanted.page, cancel=_cancel(wanted, kind))
    note = "Write or paste the manifest of one object. The next page is a preview; nothing is created before."
    return _page(wanted, kind, [alert(problem), el("p", note, class_="summary"), form], "Create")


def _preview(visit: Visit, wanted: Wanted, new: _New, text: str, shown: Node) -> Page:
    cancel = _cancel(wanted, new.kind)
    form = preview_form(visit, text, {}, action=wanted.page, cancel=cancel, word=f"Create {new.kind.kind}")
    summary = el("p", "The server accepts this object in a dry run. It has not been created yet.", class_="summary")
    return _page(wanted, new.kind, [summary, shown, form], "Preview")


def _cancel(wanted: Wanted, kind: Kind | None) -> str:
    return kind_path(kind, namespace=wanted.namespace, version=wanted.version) if kind is not None else HERE


def _page(wanted: Wanted, kind: Kind | None, content: list[Node], word: str) -> Page:
    title = f"{word} {kind.kind if kind is not None else 'object'}"
    where = ["-n", wanted.namespace] if wanted.namespace and (kind is None or kind.is_namespaced) else []
    commands = command_lines(shell("homeostat", "apply", "-f", "FILE", *where))
    head = el("div", el("h1", title), commands, class_="title")
    return Page(title, [_crumbs(wanted, kind), head, *content], TITLE, is_live=False)


def _crumbs(wanted: Wanted, kind: Kind | None) -> Markup:
    links: list[Node] = [el("a", TITLE, href=HERE)]
    if kind is not None:
        links += [" › ", el("a", kind.kind, href=_cancel(wanted, kind))]
    return el("p", links, class_="crumbs")
