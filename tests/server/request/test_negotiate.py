"""The representation that a client accepts."""

from __future__ import annotations

import pytest

from homeostat.objects.errors import NotAcceptableError
from homeostat.server.request.negotiate import MOST_ALTERNATIVES, negotiate

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "form", "encoding"),
    [
        ("application/json;q=0.1, application/yaml;q=0.9", "object", "yaml"),
        ("application/yaml;q=0.1, application/json", "object", "json"),
        ("*/*, application/yaml", "object", "yaml"),
        ("*/*;q=0.1, application/yaml", "object", "yaml"),
        ("application/yaml, application/json", "object", "yaml"),
        (f"{TABLE};q=0.1, application/json", "object", "json"),
        (f"application/json;q=0.1, {TABLE}", "table", "json"),
        (f"{TABLE}, application/json", "table", "json"),
        ("application/vnd.kubernetes.protobuf, application/json;q=0.1", "object", "json"),
        ("application/json;q=abc, application/yaml;q=0.9", "object", "json"),
        ("text/html, application/xml;q=0.9, */*;q=0.8", "object", "json"),
    ],
)
def test_the_preferred_of_the_served_types_is_chosen(accept: str, form: str, encoding: str) -> None:
    found = negotiate(accept)
    assert (found.form, found.encoding) == (form, encoding)


@pytest.mark.parametrize("accept", ["text/*", "text/html", "application/json;q=0", "application/json;q=0.000", "*"])
def test_a_client_that_accepts_nothing_served_is_refused(accept: str) -> None:
    with pytest.raises(NotAcceptableError):
        negotiate(accept)


def test_of_very_many_alternatives_the_first_are_read() -> None:
    others = [f"text/{at}" for at in range(5000)]
    assert negotiate(",".join([*others[: MOST_ALTERNATIVES - 1], "application/yaml", *others])).encoding == "yaml"
    with pytest.raises(NotAcceptableError):
        negotiate(",".join([*others, "application/yaml"]))
