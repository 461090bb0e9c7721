"""The server driven from its own documents: requests that they allow, and requests that they just do not.

Built-in kinds have schemas of thousands of fields, from which a request takes a tenth of a second to make up: of those
only some paths are taken, of custom kinds all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.core import NotSet
from schemathesis.core.result import Ok

from tests.examples import examples_of
from tests.fuzz.driver import Driver, assert_answered_well, driven_plane
from tests.fuzz.kinds import prepare

DOCUMENTS = {
    "a definition's": ("/openapi/v3/apis/example.com/v1", ""),
    "core": ("/openapi/v3/api/v1", "configmaps|secrets|namespaces/{name}$|serviceaccounts/{name}/token"),
    "apps": ("/openapi/v3/apis/apps/v1", "controllerrevisions|deployments/{name}/scale"),
}
MODES = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
Case = schemathesis.Case[Any]
KNOWN = {"namespace": "default", "name": "base"}
EXAMPLES = settings(
    max_examples=examples_of(4),
    phases=[Phase.generate],
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """A plane apart: its objects may be deleted."""
    with driven_plane(tmp_path_factory.mktemp("openapi") / "plane") as driver:
        prepare(driver)
        yield driver


def encoded(body: Any) -> bytes:
    if isinstance(body, NotSet):
        return b""
    return body if isinstance(body, bytes) else json.dumps(body, default=repr).encode()


def send(driver: Driver, case: Case, *, is_known: bool, has_query: bool) -> int:
    """Ask what a case asks; half of the time of an object that is there, and without odd parameters in the way."""
    places = KNOWN if is_known else case.path_parameters
    path = case.path.format(**{name: quote(str(places.get(name, "x")), safe="") for name in ("namespace", "name")})
    query = urlencode(case.query, doseq=True) if has_query else "fieldManager=fuzz" if case.method == "PATCH" else ""
    headers = {str(name).lower(): str(value) for name, value in case.headers.items()}
    body = encoded(case.body)
    answer = driver.send(case.method, path, body, query=query, type=case.media_type or "", headers=headers)
    assert_answered_well(answer)
    return answer.status


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize(("path", "chosen"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_the_server_answers_what_its_documents_describe(
    own: Driver, path: str, chosen: str, mode: GenerationMode
) -> None:
    schema = schemathesis.openapi.from_dict(own.send("GET", path).json)
    codes: set[int] = set()
    for result in (schema.include(path_regex=chosen) if chosen else schema).get_all_operations():
        assert isinstance(result, Ok), result
        operation = result.ok()
        if "{" not in operation.path:
            continue

        @EXAMPLES
        @given(operation.as_strategy(generation_mode=mode), st.booleans(), st.booleans())
        def ask(case: Case, is_known: bool, has_query: bool) -> None:
            codes.add(send(own, case, is_known=is_known, has_query=has_query))

        ask()
    assert {200, 404} <= codes
    assert codes & {400, 422}
