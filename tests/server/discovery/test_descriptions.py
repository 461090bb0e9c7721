"""Every field of a built-in kind that is served says what it means."""

from __future__ import annotations

from homeostat.objects.wire.type_table import flat_fields, kind_named, type_named
from homeostat.server.discovery.descriptions import describe_field, describe_type, texts_of
from homeostat.server.kinds.registry import BUILTINS


def _served() -> set[str]:
    """The types of all served kinds and of their fields."""
    rows = (line.split() for line in BUILTINS.strip().splitlines())
    kinds = ((*api_version.rpartition("/")[::2], kind) for api_version, kind, *_ in rows)
    names = (kind_named(group, version, f"{kind}{end}") for group, version, kind in kinds for end in ("", "List"))
    wanted = [name for name in names if name]
    found = set(wanted)
    while wanted:
        for field in flat_fields(type_named(wanted.pop())):
            if not field.is_leaf and field.type not in found:
                found.add(field.type)
                wanted.append(field.type)
    return found


def test_every_type_and_field_has_a_sentence() -> None:
    lacking, wrong = [], []
    for name in sorted(_served()):
        builtin = type_named(name)
        texts = {name: describe_type(builtin)}
        texts |= {f"{name}.{each.name}": describe_field(builtin, each.name) for each in flat_fields(builtin)}
        lacking += [at for at, text in texts.items() if not text]
        wrong += [at for at, text in texts.items() if not text.endswith(".") or len(text) > 200]
    assert (lacking, wrong) == ([], [])


def test_no_sentence_is_about_a_field_that_does_not_exist() -> None:
    for package in {name.rpartition(".")[0] for name in _served()}:
        for short, texts in texts_of(package).items():
            fields = {each.name for each in flat_fields(type_named(f"{package}.{short}"))}
            assert {*texts} - {""} <= fields, f"{package}.{short}"


def test_a_field_that_many_types_share_may_have_a_sentence_of_its_own() -> None:
    texts = {name: describe_field(type_named(f"core.v1.{name}"), "metadata") for name in ("Pod", "PodList")}
    assert texts["Pod"].startswith("Name, labels")
    assert texts["PodList"].startswith("Version of the list")
    assert describe_field(type_named("core.v1.PodTemplateSpec"), "metadata") == "Labels and annotations of the Pods."
    assert describe_field(type_named("core.v1.Volume"), "emptyDir").startswith("An empty directory")
    assert describe_type(type_named("core.v1.PodList")) == "A list of Pod objects."
