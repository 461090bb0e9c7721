"""Objects of a list that somebody selected: the boxes and the form of the list, and what the form sends. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from homeostat.objects.kind import Kind
from homeostat.web.dashboard.html.layout import proof_field
from homeostat.web.dashboard.html.markup import Markup, el
from homeostat.web.dashboard.objects.bulk.operation import LABEL, Operation
from homeostat.web.dashboard.objects.kinds import kind_path

MOST_SELECTED: Final = 200
"""Objects that one form changes."""
MOST_FIELDS: Final = 1000
"""Of the form, so that who selects more than that on a page of search results is told the limit."""
FORM: Final = "bulk"
_FIELD: Final = "object:"


class Selected(NamedTuple):
    """The object of exactly this uid, so that a later one of the same name stays as it is."""

    namespace: str
    name: str
    uid: str

    @property
    def title(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def field(self) -> Markup:
        return el("input", type="hidden", name=f"{_FIELD}{self.title}", value=self.uid)


def read_selection(form: Mapping[str, str]) -> list[Selected]:
    found: list[Selected] = []
    for field, uid in form.items():
        namespace, _, name = field.removeprefix(_FIELD).rpartition("/")
        # Without a name, the path would be that of all objects.
        if field.startswith(_FIELD) and name and uid:
            found.append(Selected(namespace, name, uid))
    return found


def box(namespace: str, name: str, uid: str) -> Markup:
    """The cell of a row that selects its object."""
    title = Selected(namespace, name, uid).title
    entry = el("input", type="checkbox", name=f"{_FIELD}{title}", value=uid, form=FORM, aria_label=f"Select {title}")
    return el("td", entry, class_="pick")


def head() -> Markup:
    """The cell above the boxes; the script shows what selects all of the page."""
    return el("td", el("input", type="checkbox", id="pick-all", aria_label="Select all on this page"), class_="pick")


def selection_form(proof: str, kind: Kind, offered: Sequence[Operation], version: str, namespace: str) -> Markup:
    options = [el("option", each.label, value=each.word) for each in offered]
    label = [
        el("label", "Label to set", for_="bulk-label", class_="unseen"),
        el("input", type="text", id="bulk-label", name="label", placeholder="tier=front, or tier-", maxlength=400),
    ]
    return el(
        "form",
        proof_field(proof),
        el("input", type="hidden", name="from", value=namespace),
        el("label", "With selected objects", for_="bulk-operation"),
        el("select", options, id="bulk-operation", name="operation"),
        label if LABEL in offered else None,
        el("button", "Preview", type="submit"),
        # The script fills it.
        el("span", id="picked", class_="note", role="status"),
        method="post",
        id=FORM,
        action=bulk_path(kind, version),
        class_="bulk",
        aria_label="Change selected objects",
    )


def bulk_path(kind: Kind, version: str) -> str:
    path, _, query = kind_path(kind, version=version).partition("?")
    return f"{path}/bulk?{query}" if query else f"{path}/bulk"
