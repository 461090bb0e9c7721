from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.errors import ApiError, BadRequestError, InvalidError
from homeostat.objects.patch.strategic import strategic_merge_patch
from homeostat.objects.wire.builtin_schema import builtin_schema

Json = Any

POD = builtin_schema("", "v1", "Pod")
DEPLOYMENT = builtin_schema("apps", "v1", "Deployment")


def pod(*containers: Json, **more: Json) -> Json:
    return {"spec": {"containers": list(containers), **more}}


A, B, C = {"name": "a", "image": "1"}, {"name": "b", "image": "2"}, {"name": "c", "image": "3"}


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        pytest.param(pod(A, B), pod({"name": "b", "image": "9"}), pod(A, {"name": "b", "image": "9"}), id="by-key"),
        pytest.param(pod(A), pod(B), pod(B, A), id="a-new-item-comes-first"),
        pytest.param(pod(A, B), pod({"name": "a", "$patch": "delete"}), pod(B), id="delete-an-item"),
        pytest.param(pod(A, B), pod({"$patch": "replace"}, C), pod(C), id="replace-a-list"),
        pytest.param(pod(A), pod({"name": "a", "image": None}), pod({"name": "a"}), id="null-in-an-item"),
        pytest.param(pod(A), {"spec": {"containers": None}}, {"spec": {}}, id="null-for-a-list"),
        pytest.param(pod(A), {"spec": {"containers": []}}, pod(A), id="an-empty-list-keeps-all"),
        pytest.param(
            pod(A, B, C),
            {"spec": {"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}, {"name": "b"}]}},
            pod(C, A, B),
            id="order-alone",
        ),
        pytest.param(
            pod(A, C),
            {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": [B]}},
            pod(B, A, C),
            id="order-and-item",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["x", "y"]}},
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x", "z"], "finalizers": ["w"]}},
            {"metadata": {"finalizers": ["w", "y"]}},
            id="primitive-list",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["x", "y"]}},
            {"metadata": {"$setElementOrder/finalizers": ["z", "y", "x"], "finalizers": ["z"]}},
            {"metadata": {"finalizers": ["z", "y", "x"]}},
            id="primitive-order",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": "1", "b": "2"}}},
            {"metadata": {"labels": {"a": None, "c": "3"}}},
            {"metadata": {"labels": {"b": "2", "c": "3"}}},
            id="map",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": "1"}}},
            {"metadata": {"labels": {"$patch": "replace", "b": "2"}}},
            {"metadata": {"labels": {"b": "2"}}},
            id="replace-a-map",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": "1"}}},
            {"metadata": {"labels": {"$patch": "delete"}}},
            {"metadata": {"labels": {}}},
            id="empty-a-map",
        ),
        pytest.param({"a": 1}, {"metadata": {"$patch": "delete"}}, {"a": 1}, id="delete-a-map-that-is-not-there"),
        pytest.param({"a": 1}, {"$patch": "replace", "b": 2}, {"b": 2}, id="replace-the-whole"),
        pytest.param(
            pod({"name": "a", "args": ["x", "y"]}),
            pod({"name": "a", "args": ["z"]}),
            pod({"name": "a", "args": ["z"]}),
            id="an-atomic-list-is-replaced",
        ),
        pytest.param(
            pod(A),
            pod({"name": "n", "env": [{"name": "E", "$patch": "delete"}, {"name": "F", "value": None}]}),
            pod({"name": "n", "env": [{"name": "F"}]}, A),
            id="directives-in-what-is-new",
        ),
    ],
)
def test_a_pod_is_patched_by_its_merge_keys(document: Json, patch: Json, expected: Json) -> None:
    before = copy.deepcopy((document, patch))
    assert strategic_merge_patch(document, patch, POD) == expected
    assert (document, patch) == before


def test_retain_keys_clears_what_it_does_not_name() -> None:
    document = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert strategic_merge_patch(document, patch, DEPLOYMENT) == {"spec": {"strategy": {"type": "Recreate"}}}


@pytest.mark.parametrize(
    ("patch", "error"),
    [
        ([], BadRequestError),
        ({"$patch": "explode"}, BadRequestError),
        ({"$unknown": 1}, BadRequestError),
        (pod({"name": "a", "$patch": "explode"}), BadRequestError),
        (pod({"name": "a", "$patch": "merge"}), InvalidError),
        (pod({"image": "x"}), InvalidError),
        (pod("a"), InvalidError),
        ({"spec": {"$retainKeys": "containers"}}, BadRequestError),
        ({"spec": {"$retainKeys": ["nodeName"], "containers": [A]}}, BadRequestError),
        ({"spec": {"$setElementOrder/containers": {"name": "a"}}}, BadRequestError),
        ({"spec": {"$setElementOrder/containers": [{"name": "b"}], "containers": [A]}}, InvalidError),
        ({"metadata": {"$deleteFromPrimitiveList/finalizers": "x"}}, BadRequestError),
    ],
)
def test_a_patch_that_is_none_is_refused(patch: Json, error: type[ApiError]) -> None:
    with pytest.raises(error):
        strategic_merge_patch({"metadata": {}, **pod(A, B)}, patch, POD)


names = st.lists(st.sampled_from("abcd"), unique=True, max_size=4)
container_lists = names.flatmap(
    lambda found: st.tuples(
        *(st.fixed_dictionaries({"name": st.just(name)}, optional={"image": st.sampled_from("xy")}) for name in found)
    ).map(list)
)
pods = st.fixed_dictionaries(
    {"spec": st.fixed_dictionaries({"containers": container_lists})},
    optional={"metadata": st.fixed_dictionaries({"finalizers": st.lists(st.sampled_from("xyz"), unique=True)})},
)


@given(pods)
def test_an_empty_patch_and_the_object_itself_change_nothing(document: Json) -> None:
    assert strategic_merge_patch(document, {}, POD) == document
    assert strategic_merge_patch(document, document, POD) == document


@given(pods, pods)
def test_patching_twice_is_patching_once(document: Json, patch: Json) -> None:
    once = strategic_merge_patch(document, patch, POD)
    assert strategic_merge_patch(once, patch, POD) == once


@given(pods, pods)
def test_every_item_of_both_is_in_the_result_once(document: Json, patch: Json) -> None:
    merged = [each["name"] for each in strategic_merge_patch(document, patch, POD)["spec"]["containers"]]
    wanted = {each["name"] for part in (document, patch) for each in part["spec"]["containers"]}
    assert sorted(merged) == sorted(wanted)


class Counted(str):
    """A text that counts how often it is compared."""

    __slots__ = ()
    comparisons = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


N = 2000


def counted(prefix: str, *, reverse: bool = False) -> list[Counted]:
    found = [Counted(f"{prefix}{at}") for at in range(N)]
    return found[::-1] if reverse else found


LARGE: dict[str, Json] = {
    "deletions": {"spec": {"volumes": [{"name": each, "$patch": "delete"} for each in counted("v")]}},
    "new items": {"spec": {"volumes": [{"name": each} for each in counted("w")]}},
    "known items": {"spec": {"volumes": [{"name": each, "emptyDir": {}} for each in counted("v")]}},
    "an order": {
        "spec": {
            "$setElementOrder/volumes": [{"name": each} for each in counted("v", reverse=True)],
            "volumes": [{"name": each} for each in counted("v", reverse=True)],
        }
    },
    "deleted values": {"metadata": {"$deleteFromPrimitiveList/finalizers": counted("f")}},
    "new values": {"metadata": {"finalizers": counted("g")}},
    "kept keys": {"spec": {"$retainKeys": counted("k"), **{each: {} for each in counted("k")}}},
    "many orders": {"spec": {Counted(f"$setElementOrder/{each}"): [] for each in counted("k")}},
}


@pytest.mark.parametrize("patch", LARGE.values(), ids=LARGE)
def test_a_patch_of_long_lists_takes_time_in_proportion_to_them(patch: Json) -> None:
    document = {
        "metadata": {"finalizers": counted("f")},
        "spec": {"volumes": [{"name": each} for each in counted("v")]},
    }
    Counted.comparisons = 0
    strategic_merge_patch(document, patch, POD)
    assert Counted.comparisons <= 20 * N
