"""`-o jsonpath=`: what a template prints, and which texts are no templates."""

from __future__ import annotations

import pytest

from homeostat.cli.console.template import Template, TemplateError
from homeostat.objects.json import JsonObject

PODS: JsonObject = {
    "kind": "List",
    "items": [
        {"metadata": {"name": "web"}, "status": {"phase": "Running", "restarts": 2}},
        {"metadata": {"name": "job", "labels": {"app": "job"}}, "status": {"phase": "Failed", "isLast": True}},
    ],
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{.kind}", "List"),
        (".kind", "List"),
        ("a {.kind} of pods", "a List of pods"),
        ("{.items[*].metadata.name}", "web job"),
        ("{.items[-1].metadata.name}", "job"),
        ("{..phase}", "Running Failed"),
        ('{.items[?(@.status.phase=="Failed")].metadata.name}', "job"),
        ("{.items[0].status.restarts} {.items[1].status.isLast}", "2 true"),
        ("{.items[1].metadata.labels}", '{"app":"job"}'),
        ("{.items[0].nothing}", ""),
        ('{range .items[*]}{.metadata.name}{"\\t"}{@.status.phase}{"\\n"}{end}', "web\tRunning\njob\tFailed\n"),
        ("{range .items[*]}{range .metadata.labels.*}[{@}]{end}{end}", "[job]"),
        ('{"{"}{"}"}', "{}"),
    ],
)
def test_a_template_prints_as_that_of_kubectl(template: str, text: str) -> None:
    assert Template(template).render(PODS) == text


@pytest.mark.parametrize(
    "text",
    ["{", "}", "{.a", "{}", "{range .items}", "{end}", "{.a[}", "{range .a}" * 20 + "{end}" * 20, "{.a}" * 20_000],
)
def test_what_is_no_template_is_refused(text: str) -> None:
    with pytest.raises(TemplateError):
        Template(text)
