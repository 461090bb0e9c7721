"""The versions of a contract that a Pacto has loaded, and what changed between two of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final, NamedTuple
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from homeostat.objects.json import Json
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.diff.change import Change, Classification, worst
from homeostat.web.contracts.dashboard.contracts import HERE, TITLE
from homeostat.web.contracts.dashboard.services import Services
from homeostat.web.contracts.index import RevisionEntry
from homeostat.web.contracts.threads import with_bundles
from homeostat.web.dashboard.html.command import command, nothing, shell
from homeostat.web.dashboard.html.components import Row, chip, facts, many, moment, row, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import field
from homeostat.web.dashboard.html.redaction import plain_text, without_credentials, without_secrets
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query
from homeostat.web.kit.refusal import RefusalError, unknown

MOST_SHOWN: Final = 50
_MOST_CHANGES: Final = 200
_LONGEST: Final = 400
_LOOKS: Final = {"NON_BREAKING": "good", "POTENTIAL_BREAKING": "warn", "BREAKING": "bad"}
_WORST: Final = ("BREAKING", "POTENTIAL_BREAKING", "NON_BREAKING")
_SOURCES: Final = {"k8s": "recorded by the operator", "oci": "from the registry"}


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    old: Annotated[str, Meta(max_length=256)] = msgspec.field(name="from", default="")
    new: Annotated[str, Meta(max_length=256)] = msgspec.field(name="to", default="")


class Revisions:
    def __init__(self, services: Services) -> None:
        self._services = services

    async def section(self, namespace: str, name: str, current: str) -> Node:
        """The part of a contract's page; the newest first."""
        index = await self._services.index()
        found = sorted(index.revisions((namespace, name)), key=_age, reverse=True) if index is not None else []
        if not found:
            return None
        rows = [
            _row(each, before, f"{HERE}/{namespace}/{name}/diff", is_current=each.metadata.name == current)
            for each, before in zip(found[:MOST_SHOWN], [*found[1:], None], strict=False)
        ]
        headings = ("Version", "Loaded", "Source", "Digest", "Changes")
        return el("section", el("h2", "Revisions"), table("Revisions", headings, rows))

    async def show(self, visit: Visit) -> Page:
        """The difference between two versions."""
        namespace, name = visit.captured["namespace"], visit.captured["name"]
        query, face = read_query(visit.request, Versions), await self._services.face()
        entry = face.visibility.index.pacto((namespace, name)) if face is not None else None
        if face is None or entry is None:
            raise unknown(f"Contract {namespace}/{name} not found")
        versions = _versions(face.visibility.index.revisions((namespace, name)))
        if not query.old and not query.new and len(versions) > 1:
            query = Versions(old=versions[1], new=versions[0])
        instance = entry.instance()
        service = (await face.visibility.index.view(None)).get(instance.service)
        above = (el("a", TITLE, href=HERE), " › ", el("a", name, href=f"{HERE}/{namespace}/{name}"))
        crumbs = el("p", above, class_="crumbs")
        title = el("h1", f"{instance.service}: {query.old or 'current'} → {query.new or 'current'}")
        if service is None:
            raise unknown(f"Contract {namespace}/{name} has no service")
        try:
            old, before = await face.bundles.bundle_of(service, query.old)
            new, after = await face.bundles.bundle_of(service, query.new)
        except RefusalError as error:
            revisions = {each.spec.version: each for each in face.visibility.index.revisions((namespace, name))}
            steps = _command(revisions.get(query.old), revisions.get(query.new))
            problem = nothing(without_credentials(str(error)), *steps)
            return Page(name, [crumbs, title, _form(visit.request.path, query, versions), problem], TITLE)
        found = await with_bundles([old, new], lambda: _difference(old, new), namespace=namespace)
        content: list[Node] = [
            crumbs,
            title,
            _form(visit.request.path, query, versions),
            facts(
                ("From", [before.version, el("span", _SOURCES.get(before.source, before.source), class_="note")]),
                ("To", [after.version, el("span", _SOURCES.get(after.source, after.source), class_="note")]),
                ("Classification", _class_chip(found.classification)),
                ("Changes", found.number),
            ),
            found.shown,
        ]
        return Page(name, content, TITLE)


def _versions(revisions: Iterable[RevisionEntry]) -> list[str]:
    """The newest first."""
    ordered = sorted(revisions, key=_age, reverse=True)
    return list(dict.fromkeys(each.spec.version for each in ordered if each.spec.version))[:MOST_SHOWN]


def _form(here: str, query: Versions, versions: Sequence[str]) -> Node:
    """None where there are no two versions to compare."""
    if len(versions) < 2:
        return None
    return el(
        "form",
        field("From", "from", _select("from", versions, query.old)),
        field("To", "to", _select("to", versions, query.new)),
        el("button", "Compare", type="submit"),
        method="get",
        action=here,
        class_="filter",
    )


def _select(name: str, versions: Sequence[str], chosen: str) -> Markup:
    known = dict.fromkeys([*versions, *([chosen] if chosen else [])])
    options = [el("option", each, value=each, selected=each == chosen) for each in known]
    return el("select", options, name=name, id=name)


def _age(each: RevisionEntry) -> tuple[str, str]:
    return each.status.created_at or "", each.metadata.name


def _row(each: RevisionEntry, before: RevisionEntry | None, where: str, *, is_current: bool) -> Row:
    source, version = each.spec.source, each.spec.version
    compared: Node = "–"
    if before is not None:
        query = urlencode({"from": before.spec.version, "to": version})
        compared = [
            el("a", f"since {before.spec.version}", href=f"{where}?{query}"),
            [command(one) for one in _command(before, each)],
        ]
    return row(
        f"revision-{each.metadata.name}",
        [version, " ", chip("current", "good") if is_current else None],
        moment(each.status.created_at),
        "inline" if source.inline else el("code", without_credentials(source.oci)),
        el("code", source.digest[:19], title=source.digest) if source.digest else "–",
        compared,
    )


def _command(old: RevisionEntry | None, new: RevisionEntry | None) -> list[str]:
    """The command that compares the two; none for a contract that was given inline."""
    if old is None or new is None or old.spec.source.inline or new.spec.source.inline:
        return []
    sides = [f"oci://{each.spec.source.oci.removeprefix('oci://')}" for each in (old, new)]
    return [shell("homeostat", "contract", "diff", *sides)]


class _Difference(NamedTuple):
    classification: Classification
    number: int
    shown: Node


def _difference(old: Bundle, new: Bundle) -> _Difference:
    """Rendered as well: a changed value may be as large as a contract."""
    # Imported for the first comparison: it reads OpenAPI documents, too.
    from homeostat.operators.contracts.engine.diff.compare import diff_contracts

    changes = diff_contracts(old, new)
    return _Difference(worst(each.classification for each in changes), len(changes), _changes(changes))


def _class_chip(word: str) -> Markup:
    return chip(word.lower().replace("_", "-"), _LOOKS[word])


def _changes(changes: Sequence[Change]) -> Node:
    if not changes:
        return nothing("No changes.")
    rows = [
        row(
            f"change-{at}",
            el("code", each.path),
            _class_chip(each.classification),
            each.type,
            el("div", _values(each), class_="diff"),
        )
        for at, each in enumerate(sorted(changes, key=lambda each: _WORST.index(each.classification))[:_MOST_CHANGES])
    ]
    more = f"; showing {_MOST_CHANGES}" if len(changes) > _MOST_CHANGES else ""
    headings = ("Field", "Classification", "Change", "Values")
    return el(
        "section", el("p", f"{many(len(changes), 'change')}{more}", class_="summary"), table("Changes", headings, rows)
    )


def _values(change: Change) -> list[Node]:
    lines: list[Node] = []
    if change.old_value is not None:
        lines.append(el("del", f"- {_text(change.old_value)}"))
    if change.new_value is not None:
        lines.append(el("ins", f"+ {_text(change.new_value)}"))
    return lines


def _text(value: Json) -> str:
    shown = without_secrets(value)
    text = shown if isinstance(shown, str) else msgspec.json.encode(shown).decode()
    return plain_text(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
