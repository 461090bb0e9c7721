from __future__ import annotations

from typing import Any

import msgspec
import pytest

from homeostat.objects.apply.apply import apply
from homeostat.objects.apply.managed import update_managed
from homeostat.objects.errors import ConflictError
from homeostat.objects.meta import LAST_APPLIED
from homeostat.objects.wire.builtin_schema import builtin_schema

SCHEMA = builtin_schema("", "v1", "ConfigMap")
CLIENT_SIDE = "kubectl-client-side-apply"
MANIFEST = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1", "b": "1"}}


def client_side(**data: str) -> Any:
    """An object as client-side apply of MANIFEST left it, with some data changed by others since."""
    remembered = {**MANIFEST, "metadata": {"name": "c", "annotations": {}}}
    text = msgspec.json.encode(remembered).decode() + "\n"
    live: Any = {**MANIFEST, "metadata": {"name": "c", "annotations": {LAST_APPLIED: text}}}
    live = owned_by(CLIENT_SIDE, None, live)
    return owned_by("others", live, {**live, "data": {**live["data"], **data}}) if data else live


def owned_by(manager: str, old: Any, new: Any) -> Any:
    metadata = update_managed(old, new, SCHEMA, manager=manager, api_version="v1", now="2026-01-01T00:00:00Z")
    return {**new, "metadata": {**new["metadata"], "managedFields": metadata}}


def applied(live: Any, manager: str = "kubectl", **data: str) -> Any:
    config = {**MANIFEST, "data": data}
    return apply(live, config, SCHEMA, manager=manager, api_version="v1", now="2026-01-02T00:00:00Z")


def test_kubectl_takes_over_what_client_side_apply_set() -> None:
    after = applied(client_side(), a="2", b="1")
    assert after["data"] == {"a": "2", "b": "1"}


def test_another_manager_does_not() -> None:
    with pytest.raises(ConflictError, match=rf'conflict with "{CLIENT_SIDE}" using v1: \.data\.a'):
        applied(client_side(), "argo", a="2", b="1")


def test_a_field_that_others_changed_since_is_still_a_conflict() -> None:
    with pytest.raises(ConflictError) as refused:
        applied(client_side(b="changed"), a="2", b="3")
    assert [cause.field for cause in refused.value.causes] == [".data.b"]


def test_the_annotation_follows_what_kubectl_applies() -> None:
    after = applied(client_side(), a="2", b="1")
    text = after["metadata"]["annotations"][LAST_APPLIED]
    assert msgspec.json.decode(text)["data"] == {"a": "2", "b": "1"}
    assert text.endswith("\n")


def test_the_annotation_stays_where_another_manager_applies() -> None:
    live = client_side()
    after = applied(live, "argo", a="1")
    assert after["metadata"]["annotations"] == live["metadata"]["annotations"]


def test_no_annotation_is_made() -> None:
    assert "annotations" not in applied(owned_by("others", None, MANIFEST), a="1")["metadata"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"data": 3}', '{"metadata": []}', '{"metadata": {"annotations": ["x"]}}']
)
def test_a_spoilt_annotation_is_as_none(text: str) -> None:
    live = client_side()
    live["metadata"]["annotations"] = {LAST_APPLIED: text}
    with pytest.raises(ConflictError):
        applied(live, a="2")
    applied(live, a="1")


def test_applying_the_same_again_changes_nothing() -> None:
    once = applied(client_side(), a="2", b="1")
    assert applied(once, a="2", b="1") is once
