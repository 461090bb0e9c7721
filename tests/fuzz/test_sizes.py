"""What is too large is refused with the limit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import APPLY, JSON_PATCH, MERGE_PATCH
from tests.api.objects import CONFIGMAPS, configmap
from tests.fuzz.driver import Driver, assert_answered_well
from tests.fuzz.kinds import FREES, WEBHOOKS, free

MIB = 1 << 20


def labels(count: int) -> dict[str, str]:
    return {f"k{at}": "v" * 60 for at in range(count)}


REFUSED: dict[str, tuple[str, Any, int]] = {
    "annotations": (CONFIGMAPS, configmap("large", metadata={"annotations": {"a": "x" * 256 * 1024}}), 422),
    "data": (CONFIGMAPS, configmap("large", data={"a": "x" * MIB, "b": "x"}), 422),
    "a name": (CONFIGMAPS, configmap("a" * 254), 422),
    "a label": (CONFIGMAPS, configmap("large", metadata={"labels": {"a": "x" * 64}}), 422),
    "a key": (CONFIGMAPS, configmap("large", data={"x" * 254: ""}), 422),
    "a finalizer": (CONFIGMAPS, configmap("large", metadata={"finalizers": ["example.com/" + "x" * 64]}), 422),
    "an object": (FREES, free("large", {"a": "x" * 3 * MIB}), 413),
}


@pytest.mark.parametrize(("path", "obj", "code"), REFUSED.values(), ids=REFUSED)
def test_an_object_has_limits(driver: Driver, path: str, obj: Any, code: int) -> None:
    answer = driver.send("POST", path, obj)
    assert_answered_well(answer)
    assert answer.status == code
    assert driver.send("GET", f"{path}/large").status == 404


def test_annotations_up_to_the_limit_are_kept(driver: Driver) -> None:
    annotations = {"a": "x" * (256 * 1024 - 1)}
    assert driver.send("POST", CONFIGMAPS, configmap("full", metadata={"annotations": annotations})).status == 201
    answer = driver.send("PATCH", f"{CONFIGMAPS}/full", {"metadata": {"annotations": {"b": ""}}}, type=MERGE_PATCH)
    assert answer.status == 422
    assert driver.send("DELETE", f"{CONFIGMAPS}/full").status == 200


def test_an_object_does_not_grow_beyond_what_a_request_may_carry(driver: Driver) -> None:
    assert driver.send("POST", FREES, free("growing", {"a0": "x" * MIB})).status == 201
    path = f"{FREES}/growing"
    assert driver.send("PATCH", path, {"spec": {"a1": "x" * MIB}}, type=MERGE_PATCH).status == 200
    for media, body in (
        (MERGE_PATCH, {"spec": {"a2": "x" * MIB}}),
        (APPLY, free("growing", {"a2": "x" * MIB})),
        (JSON_PATCH, [{"op": "copy", "from": "/spec/a0", "path": "/spec/a2"}]),
    ):
        query = "fieldManager=fuzz" if media == APPLY else ""
        answer = driver.send("PATCH", path, body, type=media, query=query)
        assert_answered_well(answer)
        assert (answer.status, answer.json["reason"]) == (413, "RequestEntityTooLarge")
    assert driver.send("DELETE", path).status == 200


def test_a_patch_has_so_many_operations(driver: Driver) -> None:
    operations = [{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10_001
    answer = driver.send("PATCH", f"{CONFIGMAPS}/base", operations, type=JSON_PATCH)
    assert (answer.status, answer.json["reason"]) == (413, "RequestEntityTooLarge")


def test_many_problems_get_a_bounded_response(driver: Driver) -> None:
    unknown: dict[str, Any] = {f"unknown{at}": {} for at in range(50_000)}
    for validation in ("Strict", "Warn"):
        answer = driver.send(
            "POST", CONFIGMAPS, {**configmap("wrong"), **unknown}, query=f"dryRun=All&fieldValidation={validation}"
        )
        assert answer.status == (400 if validation == "Strict" else 201)
        assert len(answer.body) + answer.header_bytes < 32 * 1024


def test_many_wrong_values_are_refused_in_a_bounded_answer(driver: Driver) -> None:
    answer = driver.send(
        "POST", CONFIGMAPS, configmap("wrong", metadata={"labels": {f"_{at}": "" for at in range(20_000)}})
    )
    assert_answered_well(answer)
    assert answer.status == 422
    assert len(answer.body) < MIB


def test_a_wrong_value_is_shortened_in_the_response(driver: Driver) -> None:
    answer = driver.send("POST", CONFIGMAPS, configmap("x" * 2 * MIB))
    assert_answered_well(answer)
    assert answer.status == 422
    assert len(answer.body) < 32 * 1024


MANY = {
    "objects in JSON": ("POST", WEBHOOKS, "", b'{"metadata":{"name":"a"},"webhooks":[%b{}]}' % (b"{}," * 900_000)),
    "arrays in JSON": ("POST", FREES, "", b'{"metadata":{"name":"a"},"spec":{"a":[%b[]]}}' % (b"[]," * 900_000)),
    "maps in YAML": ("POST", FREES, "application/yaml", b"metadata: {name: a}\nspec: {a: [%b]}" % (b"{}," * 900_000)),
    "messages in protobuf": (
        "POST",
        CONFIGMAPS,
        "application/vnd.kubernetes.protobuf",
        b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\xc6\xcf\x7b\x0a\xc2\xcf\x7b" + b"\x6a\0" * 1_012_705,
    ),
    "copies in a patch": (
        "PATCH",
        f"{FREES}/base",
        JSON_PATCH,
        b'[{"op":"add","path":"/spec/a","value":[%b[]]}%b]'
        % (b"[]," * 50_000, b"".join(b',{"op":"copy","from":"/spec/a","path":"/spec/b%d"}' % at for at in range(9))),
    ),
}


@pytest.mark.parametrize(("method", "path", "media", "body"), MANY.values(), ids=MANY)
def test_many_small_things_are_refused_before_they_are_read(
    driver: Driver, method: str, path: str, media: str, body: bytes
) -> None:
    answer = driver.send(method, path, body, type=media)
    assert_answered_well(answer)
    assert answer.status in {400, 422}
    assert "too large" in answer.json["message"] or "more than" in answer.json["message"]
    assert answer.took_s < 8


def test_what_is_moved_again_and_again_costs_no_more_than_once(driver: Driver) -> None:
    back_and_forth = [
        {"op": "move", "from": "/spec/a", "path": "/spec/b"},
        {"op": "move", "from": "/spec/b", "path": "/spec/a"},
    ]
    operations = [{"op": "add", "path": "/spec/a", "value": [[]] * 90_000}, *back_and_forth * 3000]
    answer = driver.send("PATCH", f"{FREES}/base", operations, type=JSON_PATCH, query="dryRun=All")
    assert answer.status == 200
    assert answer.took_s < 8
