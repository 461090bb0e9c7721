"""A manifest that somebody writes in a form: the form, the preview of what the server would make of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from homeostat.objects.errors import ApiError
from homeostat.web.dashboard.html.components import whole_text
from homeostat.web.dashboard.html.layout import proof_field
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.visit import Visit

LARGEST_FORM: Final = 512 * 1024
"""Of the text in the form, where some characters take three bytes. Larger objects are written by a command."""
LARGEST_TEXT: Final = LARGEST_FORM - 8 * 1024
"""The other fields and what is added to the text need the rest."""
MANAGER: Final = "homeostat-dashboard"


def manifest_form(visit: Visit, text: str, kept: Mapping[str, str], *, action: str, cancel: str) -> Markup:
    """`kept` are hidden fields."""
    area = el("textarea", "\n", text, id="text", name="text", spellcheck="false", autocapitalize="off", wrap="off")
    return el(
        "form",
        proof_field(visit.viewer.proof),
        _hidden(kept),
        el("label", "Manifest", for_="text", class_="unseen"),
        area,
        el(
            "p",
            el("button", "Preview", type="submit", name="step", value="preview", class_="primary"),
            " ",
            el("a", "Cancel", href=cancel, class_="clear"),
        ),
        method="post",
        action=action,
    )


def preview_form(visit: Visit, text: str, kept: Mapping[str, str], *, action: str, cancel: str, word: str) -> Markup:
    """`word` is on the button that carries it out; empty if there is nothing to do."""
    buttons: list[Node] = [el("button", "Edit again", type="submit", name="step", value="edit")]
    if word:
        buttons.insert(0, el("button", word, type="submit", name="step", value="apply", class_="primary"))
    return el(
        "form",
        proof_field(visit.viewer.proof),
        _hidden({**kept, "text": text}),
        el("p", [[each, " "] for each in buttons], el("a", "Cancel", href=cancel, class_="clear")),
        method="post",
        action=action,
    )


def alert(problem: str | ApiError) -> Markup | None:
    """All of it: who corrects a manifest needs each field that the server refuses."""
    if not problem:
        return None
    if isinstance(problem, ApiError) and len(problem.causes) > 1:
        head = f"The server refuses {len(problem.causes)} fields of {problem.kind} {problem.name}:"
        causes = [el("span", whole_text(f"{each.field}: {each.message}"), class_="cause") for each in problem.causes]
        return el("p", head, causes, class_="trouble", role="alert")
    return el("p", whole_text(str(problem)), class_="trouble", role="alert")


def _hidden(fields: Mapping[str, str]) -> list[Markup]:
    return [el("input", type="hidden", name=name, value=value) for name, value in fields.items()]
