"""Anything at all, sent anywhere: no fault of the server's, a `Status` with every refusal, no write without success."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.api.conftest import APPLY, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from tests.api.objects import CONFIGMAPS
from tests.examples import examples
from tests.fuzz.driver import Driver, assert_answered_well
from tests.fuzz.kinds import REVIEWS, TARGETS, Target
from tests.fuzz.test_parameters import NAMES, VALUES
from tests.fuzz.test_paths import METHODS
from tests.fuzz.values import ODD_VALUES, paths_of, with_value

FUZZ = settings.get_profile("fuzz")

WORDS = ["metadata", "name", "spec", "status", "rules", "webhooks", "data", "a", "", "kind", "-1", "0", "$patch", "\0"]
texts = st.sampled_from(WORDS) | st.text(max_size=8)
leaves = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | texts
)
jsons = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)
odd = st.sampled_from(list(ODD_VALUES.values())) | jsons


@st.composite
def mutations(draw: st.DrawFn, obj: dict[str, Any]) -> Any:
    """The object with some of its values replaced, or something else altogether."""
    if draw(st.integers(0, 9)) == 0:
        return draw(jsons)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([path for path in paths_of(obj) if path != ("metadata", "name")]))
        obj = with_value(obj, path, draw(odd))
        if not isinstance(obj.get("metadata"), dict):
            break
    return obj


steps = st.builds(
    lambda op, path, more: {"op": op, "path": path, **more},
    st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "other"]),
    st.lists(texts, max_size=4).map(lambda parts: "".join(f"/{part}" for part in parts)),
    st.fixed_dictionaries({"value": odd}, optional={"from": st.sampled_from(["", "/spec", "/metadata", "/data/a"])}),
)


def encoded(value: Any) -> bytes:
    """JSON, or what is left of it where a value has no encoding."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return repr(value).encode(errors="replace")


@pytest.mark.parametrize("target", [*TARGETS, *REVIEWS], ids=lambda target: target.name)
def test_anything_may_be_created_or_put(driver: Driver, target: Target) -> None:
    @examples(60, base=FUZZ)
    @given(mutations(target.base), st.sampled_from(["", "Strict", "Ignore"]), st.booleans())
    def send(value: Any, validation: str, is_new: bool) -> None:
        if is_new and isinstance(value, dict) and isinstance(value.get("metadata"), dict) and target.is_stored:
            value = {**value, "metadata": {**value["metadata"], "generateName": "f-"}}
            value["metadata"].pop("name", None)
        method, path = ("POST", target.collection) if is_new or not target.is_stored else ("PUT", target.path)
        answer = driver.send(method, path, encoded(value), query=f"fieldValidation={validation}")
        assert_answered_well(answer)
        assert target.is_stored or not answer.has_written

    send()


@pytest.mark.parametrize("media", [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY])
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_anything_may_be_patched(driver: Driver, target: Target, media: str) -> None:
    patches = st.lists(steps, max_size=3) | jsons if media == JSON_PATCH else mutations(target.base)

    @examples(40, base=FUZZ)
    @given(patches, st.booleans())
    def send(patch: Any, is_status: bool) -> None:
        path = f"{target.path}/status" if is_status else target.path
        query = "fieldManager=fuzz&force=true" if media == APPLY else ""
        assert_answered_well(driver.send("PATCH", path, encoded(patch), type=media, query=query))

    send()


@examples(200, base=FUZZ)
@given(
    st.lists(st.tuples(st.sampled_from(NAMES) | texts, st.sampled_from(VALUES) | st.text(max_size=20)), max_size=4),
    st.text(max_size=10),
    st.sampled_from(["GET", "POST", "PUT", "DELETE"]),
)
def test_any_query_may_be_asked(driver: Driver, pairs: list[tuple[str, str]], rest: str, method: str) -> None:
    pairs = [(name, value) for name, value in pairs if name != "resourceVersion"]
    query = f"{urlencode(pairs)}&{quote(rest, safe='&=%;+')}"
    path = CONFIGMAPS if method in {"GET", "POST"} else f"{CONFIGMAPS}/nobody"
    assert_answered_well(driver.send(method, path, query=query))


segments = st.sampled_from(
    ["api", "apis", "v1", "namespaces", "default", "configmaps", "base", "status", "apps", "deployments", "scale",
     "openapi", "v3", "..", ".", "", "%2f", "%00", "%ff", "example.com", "frees", "livez", "finalize", "token"]
) | st.text(max_size=6).map(lambda text: quote(text, safe="%"))  # fmt: skip


@examples(300, base=FUZZ)
@given(st.lists(segments, max_size=9), st.sampled_from(METHODS), st.booleans())
def test_any_path_may_be_asked(driver: Driver, parts: list[str], method: str, has_body: bool) -> None:
    path = "/" + "/".join(parts)
    if method == "DELETE":
        path += "/nobody"
    assert_answered_well(driver.send(method, path, b"{}" if has_body else b""))


ranges = st.builds(
    "{}{}".format,
    st.sampled_from(["application/json", "application/yaml", "*/*", "application/*", "text/html", "", "x"]),
    st.lists(
        st.sampled_from([";as=Table", ";v=v1", ";g=meta.k8s.io", ";q=0", ";q=x", ";as=PartialObjectMetadata", ";="]),
        max_size=4,
    ).map("".join),
) | st.text(st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=12)  # fmt: skip


@examples(150, base=FUZZ)
@given(st.lists(ranges, max_size=4).map(",".join), st.sampled_from([CONFIGMAPS, f"{CONFIGMAPS}/base", "/apis", "/api"]))
def test_any_form_may_be_asked_for(driver: Driver, accept: str, path: str) -> None:
    assert_answered_well(driver.send("GET", path, headers={"accept": accept}))


@examples(150, base=FUZZ)
@given(st.binary(max_size=60), st.sampled_from(["json", "yaml", "vnd.kubernetes.protobuf"]), st.booleans())
def test_any_bytes_may_be_a_body(driver: Driver, body: bytes, media: str, is_framed: bool) -> None:
    if media == "vnd.kubernetes.protobuf" and is_framed:
        body = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12" + bytes([len(body)]) + body
    assert_answered_well(driver.send("POST", CONFIGMAPS, body, type=f"application/{media}"))


def test_everything_that_was_written_can_be_read(driver: Driver) -> None:
    forms = ("application/json", "application/yaml", "application/json;as=Table;v=v1;g=meta.k8s.io")
    for target in TARGETS:
        for accept in forms:
            answer = driver.send("GET", target.collection, headers={"accept": accept}, query="includeObject=Object")
            assert answer.status == 200
        for obj in driver.send("GET", target.collection).json["items"]:
            assert driver.send("GET", f"{target.collection}/{obj['metadata']['name']}").status == 200
