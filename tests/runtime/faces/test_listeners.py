"""Which face listens where."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.runtime.faces.face import Face
from homeostat.runtime.faces.listeners import FaceChoice, FaceError, Listener, Place, arrange, by_prefix, prefixes_of

HERE = "127.0.0.1"


def face(name: str, *prefixes: str, **more: Any) -> Face:
    return Face(name=name, title=name, prefixes=prefixes or (f"/{name}",), open="nowhere:app", **more)


REST, IMAGES, HOOKS = face("rest", "/"), face("images"), face("hooks", "/hooks", "/receive")


def shown(listeners: list[Listener]) -> list[tuple[Place, list[str], bool]]:
    return [(each.place, [face.name for face in each.faces], each.is_required) for each in listeners]


def test_all_faces_of_a_process_share_one_port_that_is_not_required() -> None:
    assert shown(arrange([REST, IMAGES], FaceChoice())) == [(Place(HERE, 8000), ["rest", "images"], False)]


def test_a_port_that_was_asked_for_all_faces_is_required() -> None:
    choice = FaceChoice(shared=Place(HERE, 0))
    assert shown(arrange([REST, IMAGES], choice)) == [(Place(HERE, 0), ["rest", "images"], True)]


def test_a_face_may_have_a_port_of_its_own() -> None:
    choice = FaceChoice(own={"images": Place("0.0.0.0", 9000)})
    assert shown(arrange([REST, IMAGES, HOOKS], choice)) == [
        (Place(HERE, 8000), ["rest", "hooks"], False),
        (Place("0.0.0.0", 9000), ["images"], True),
    ]


def test_free_ports_that_were_asked_for_by_name_are_not_shared() -> None:
    choice = FaceChoice(own={"images": Place(HERE, 0), "hooks": Place(HERE, 0)}, without=frozenset({"rest"}))
    assert shown(arrange([REST, IMAGES, HOOKS], choice)) == [
        (Place(HERE, 0), ["images"], True),
        (Place(HERE, 0), ["hooks"], True),
    ]


def test_the_same_port_by_name_is_shared() -> None:
    choice = FaceChoice(own={"images": Place(HERE, 9000), "hooks": Place(HERE, 9000)}, only_own=True)
    assert shown(arrange([REST, IMAGES, HOOKS], choice)) == [(Place(HERE, 9000), ["images", "hooks"], True)]


def test_a_face_with_another_default_port_is_alone_there() -> None:
    other = face("other", port=9443)
    assert shown(arrange([REST, other], FaceChoice())) == [
        (Place(HERE, 8000), ["rest"], False),
        (Place(HERE, 9443), ["other"], False),
    ]


@pytest.mark.parametrize(
    ("faces", "choice", "told"),
    [
        ([REST, face("site", "/")], FaceChoice(), '"rest" and "site" both answer at /; .* --site-port'),
        ([REST, face("rest", "/x")], FaceChoice(), 'two faces of this process are named "rest"'),
        ([REST], FaceChoice(own={"images": Place(HERE, 1)}), "--images-port: .* no|no operator .*there are: rest"),
    ],
)
def test_a_choice_that_cannot_be_served_is_an_error(faces: list[Face], choice: FaceChoice, told: str) -> None:
    with pytest.raises(FaceError, match=told):
        arrange(faces, choice)


def test_faces_that_would_collide_are_served_apart() -> None:
    choice = FaceChoice(own={"site": Place(HERE, 9000)})
    assert len(arrange([REST, face("site", "/")], choice)) == 2


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/", "rest"),
        ("/api/v1/resources", "rest"),
        ("/images", "images"),
        ("/images/", "images"),
        ("/images/a/b", "images"),
        ("/imagesque", "rest"),
        ("/receive/github", "hooks"),
        ("*", "rest"),
    ],
)
def test_the_longest_prefix_of_whole_segments_decides(path: str, name: str) -> None:
    assert by_prefix(path, prefixes_of([REST, IMAGES, HOOKS])) == name


def test_a_path_that_no_face_answers_leads_nowhere() -> None:
    assert by_prefix("/other", prefixes_of([IMAGES])) == ""


def test_a_face_that_is_not_there_may_be_switched_off() -> None:
    assert arrange([], FaceChoice(without=frozenset({"rest"}))) == []


class Counting(dict[str, str]):
    """Counts how often it is asked."""

    asked = 0

    def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
        Counting.asked += 1
        return super().get(key, default)


def test_a_path_of_many_segments_is_no_more_work_than_a_short_one() -> None:
    Counting.asked = 0
    prefixes = Counting({"/api": "rest", "/api/v1/deep": "deep", "/": "rest"})
    assert by_prefix("/api" + "/a" * 8000, prefixes) == "rest"
    assert Counting.asked < 10


def test_a_face_serves_other_paths_only_where_no_other_face_does() -> None:
    contracts = face("contracts", "/contracts", alone=("/",))
    shared, own = prefixes_of([contracts, REST]), prefixes_of([contracts, IMAGES])
    assert (by_prefix("/health", shared), by_prefix("/contracts/health", shared)) == ("rest", "contracts")
    assert (by_prefix("/health", own), by_prefix("/images", own)) == ("contracts", "images")
    assert len(arrange([contracts, REST], FaceChoice())) == 1


def test_a_page_that_another_face_has_too_is_left_to_it() -> None:
    images = face("images", "/status", alone=("/health",))
    contracts = face("contracts", "/contracts", alone=("/",))
    assert by_prefix("/health", prefixes_of([images, REST])) == "rest"
    assert by_prefix("/health", prefixes_of([contracts, images])) == "images"
    assert by_prefix("/other", prefixes_of([contracts, images])) == "contracts"
