"""A declared object: decoded from a server's bytes, with its status kept as it came."""

from __future__ import annotations

import msgspec
import pytest

from homeostat.objects.declared import Declared, Metadata, owner_reference
from homeostat.objects.kind import CONFIG_MAP


class Spec(msgspec.Struct, frozen=True):
    size: int = 1


class Widget(Declared, frozen=True):
    spec: Spec = Spec()


class Status(msgspec.Struct, frozen=True):
    seen: int = 0


def decoded(text: bytes) -> Widget:
    return msgspec.json.decode(text, type=Widget)


def test_a_status_is_decoded_into_the_requested_fields() -> None:
    widget = decoded(b'{"metadata": {"name": "a"}, "spec": {"size": 2}, "status": {"seen": 7, "others": [1]}}')
    assert widget.spec.size == 2
    assert widget.read_status(Status) == Status(7)
    assert bytes(widget.status) == b'{"seen": 7, "others": [1]}'


def test_an_object_without_a_status_reads_as_the_defaults() -> None:
    assert decoded(b'{"metadata": {"name": "a"}}').read_status(Status) == Status()


def test_a_status_that_is_unreadable_says_where() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.seen"):
        decoded(b'{"metadata": {"name": "a"}, "status": {"seen": "x"}}').read_status(Status)


def test_objects_that_say_the_same_are_equal() -> None:
    text = b'{"metadata": {"name": "a", "labels": {"x": "y"}}, "status": {"seen": 7}}'
    assert decoded(text) == decoded(text)
    assert decoded(text) != decoded(text.replace(b"7", b"8"))


@pytest.mark.parametrize(("moment", "is_terminating"), [(None, False), ("2026-01-01T00:00:00Z", True)])
def test_an_object_with_a_deletion_time_is_terminating(moment: str | None, is_terminating: bool) -> None:
    assert Widget(metadata=Metadata("a", deletion_timestamp=moment)).is_terminating is is_terminating


def test_what_is_made_for_an_object_names_it_as_its_controller() -> None:
    assert owner_reference(CONFIG_MAP, Metadata("a", uid="1")) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "a",
        "uid": "1",
        "controller": True,
        "blockOwnerDeletion": True,
    }
