"""One scalar edited: the rest stays to the byte, and what is read back is the new value."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homeostat.objects import yaml
from homeostat.objects.json import Json
from homeostat.objects.yaml.span import (
    Path,
    Scalars,
    SpanError,
    find_scalar,
    path_text,
    replace_scalar,
    replace_scalars,
)

FILE = """\
# the shop
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: 'web', tier: "front"}}
spec:
  template:
    spec:
      containers:
      - name: web   # the only one
        image: registry.example.com/web:1.0   # bumped by a robot
        args: [--port, '8080', "it''s"]
---
newTag: 1.4.0
empty:   # nothing yet
last: x"""
IMAGE = ("spec", "template", "spec", "containers", 0, "image")

EDITS: dict[str, tuple[int, Path, str, str, str]] = {
    "a plain one before a comment": (
        *(0, IMAGE, "registry.example.com/web:2.0"),
        *("image: registry.example.com/web:1.0   # bumped", "image: registry.example.com/web:2.0   # bumped"),
    ),
    "in flow style": (0, ("metadata", "name"), "api", "{name: web,", "{name: api,"),
    "a plain one that would end its place": (0, ("metadata", "name"), "a, b}", "{name: web,", '{name: "a, b}",'),
    "a single-quoted one": (0, ("metadata", "labels", "app"), "it's", "app: 'web'", "app: 'it''s'"),
    "a double-quoted one": (0, ("metadata", "labels", "tier"), 'a"b', '"front"', '"a\\"b"'),
    "an item": (0, ("spec", "template", "spec", "containers", 0, "args", 1), "80", "'8080'", "'80'"),
    "a tag that looks like a number": (1, ("newTag",), "1.5", "newTag: 1.4.0", 'newTag: "1.5"'),
    "a value that is not there": (1, ("empty",), "v1", "empty:   # nothing", "empty: v1   # nothing"),
    "the last without an end of line": (1, ("last",), "y # z", "last: x", 'last: "y # z"'),
    "several lines": (1, ("last",), "a\nb", "last: x", 'last: "a\\nb"'),
    "an empty text": (1, ("last",), "", "last: x", 'last: ""'),
}


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["no mark", "byte order mark"])
@pytest.mark.parametrize(("document", "path", "text", "before", "after"), EDITS.values(), ids=EDITS)
def test_a_scalar_is_replaced_in_its_place(
    document: int, path: Path, text: str, before: str, after: str, ends: str, mark: str
) -> None:
    whole = mark + FILE.replace("\n", ends)
    assert whole.count(before) == 1
    edited = replace_scalar(whole.encode(), path, text, document=document)
    assert edited.decode() == whole.replace(before, after)


def test_a_scalar_is_found_with_its_line_and_quotes() -> None:
    span = find_scalar(FILE.encode(), ("metadata", "labels", "tier"))
    assert (span.line, span.text, span.style, FILE[span.start : span.end]) == (4, "front", '"', '"front"')


_TWICE = "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 41))
SHARED: dict[str, tuple[str, Path, str]] = {
    "an anchor": ("a: &x old\nb: *x\n", ("a",), "a: &x new\nb: *x\n"),
    "an alias": ("a: &x 'old'\nb: *x\n", ("b",), "a: &x 'new'\nb: *x\n"),
    "below an alias": ("a: &x {c: old}\nb: *x\n", ("b", "c"), "a: &x {c: new}\nb: *x\n"),
    "a merged key": ("a: &x {c: old}\nb: {<<: *x}\n", ("b", "c"), "a: &x {c: new}\nb: {<<: *x}\n"),
    "the first of merged ones": (
        *("a: &x {c: old}\nb: &y {c: no}\nd: {<<: [*x, *y]}\n", ("d", "c")),
        "a: &x {c: new}\nb: &y {c: no}\nd: {<<: [*x, *y]}\n",
    ),
    "behind maps that merge the one before twice": (
        *(f"{_TWICE}b: &b {{c: old}}\nd: {{<<: [*a40, *b]}}\n", ("d", "c")),
        f"{_TWICE}b: &b {{c: new}}\nd: {{<<: [*a40, *b]}}\n",
    ),
    "an anchor that was defined again": ("a: &x no\nb: &x old\nc: *x\n", ("c",), "a: &x no\nb: &x new\nc: *x\n"),
    "a tag of a text": ("a: !!str old # x\n", ("a",), "a: !!str new # x\n"),
    "a block of one line": ("a: >-\n  old\nb: 1\n", ("a",), "a: >-\n  new\nb: 1\n"),
}


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["no mark", "byte order mark"])
@pytest.mark.parametrize(("whole", "path", "after"), SHARED.values(), ids=SHARED)
def test_a_shared_text_is_found_behind_its_places(whole: str, path: Path, after: str, mark: str) -> None:
    data = f"{mark}{whole}".encode()
    edited = replace_scalars(data, {Scalars(data).shared(path): "new"}, list(yaml.load_all(after.encode())))
    assert edited.decode() == f"{mark}{after}"


REFUSED: dict[str, tuple[str, Path, str]] = {
    "an alias": ("a: &x 1\nb: *x\n", ("b",), "b: is an alias (*x); write the value in its place"),
    "an anchor": ("a: &x 1\nb: *x\n", ("a",), "a: has the anchor &x, by which other places may share it"),
    "below an anchor": ("a: &x {b: 1}\nc: *x\n", ("a", "b"), "a: has the anchor &x"),
    "below an alias": ("a: &x {b: 1}\nc: *x\n", ("c", "b"), "c: is an alias (*x)"),
    "a merged key": ("a: &x {b: 1}\nc: {<<: *x}\n", ("c", "b"), "c.b: may come from a merge (<<)"),
    "a tag": ("a: !!str 1\n", ("a",), "a: has the tag tag:yaml.org,2002:str; remove the tag"),
    "a literal block": ("a: |\n  x\n", ("a",), "a: is a literal block; write it on one line"),
    "a folded block": ("a: >-\n  x\n  y\n", ("a",), "a: is a folded block"),
    "a map": ("a: {b: 1}\n", ("a",), "a: is a list or a map"),
    "no such field": ("a: {b: 1}\n", ("a", "c"), "a.c: there is no such field"),
    "no such item": ("a: [1]\n", ("a", 1), "a[1]: there is no such item; the list has 1"),
    "a field of a list": ("a: [1]\n", ("a", "b"), "a.b: there is no such field"),
    "no such document": ("---\n", ("a",), "a: there is no document 0; the file has 0"),
}


@pytest.mark.parametrize(("whole", "path", "told"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_edited_alone_is_refused(whole: str, path: Path, told: str) -> None:
    with pytest.raises(SpanError) as refused:
        replace_scalar(whole.encode(), path, "new")
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize("whole", ["a: [", "a: 1\na: 2\n", "a: \udcff"])
def test_what_is_not_yaml_is_refused_as_by_the_reader(whole: str) -> None:
    with pytest.raises(yaml.YamlError):
        replace_scalar(whole.encode(errors="surrogateescape"), ("a",), "new")
    with pytest.raises(yaml.YamlError):
        replace_scalar("a: 1".encode("utf-16"), ("a",), "new")


def test_a_key_is_named_as_the_reader_names_it() -> None:
    assert list(yaml.load_all(b"y: a\n1: b\n")) == [{"true": "a", "1": "b"}]
    assert replace_scalar(b"y: a\n1: b\n", ("true",), "c") == b"y: c\n1: b\n"
    assert replace_scalar(b"y: a\n1: b\n", ("1",), "c") == b"y: a\n1: c\n"


def test_paths_read_as_people_write_them() -> None:
    assert path_text(IMAGE) == "spec.template.spec.containers[0].image"
    assert path_text(()) == "the document"


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.one_of(
    words.map(lambda text: "'" + text.replace("'", "''") + "'" if text.isprintable() else '"q"'),
    st.sampled_from(["plain", "a:b", "1.0", "true", "~", '"x\\ty"', "x y z", "http://x/y", "", "é", "日本"]),
)
comments = st.sampled_from(["", "  # why", "\t# tab", " #"])
names = st.sampled_from(["image", "name", "a.b", "'quoted key'", "tag"])


@st.composite
def files(draw: st.DrawFn) -> tuple[str, list[tuple[int, Path]]]:
    """A file of documents with maps, lists and flow, and the places of its scalars."""
    end = draw(st.sampled_from(["\n", "\r\n"]))
    lines: list[str] = []
    places: list[tuple[int, Path]] = []
    for document in range(draw(st.integers(1, 3))):
        lines.append(f"---{draw(comments)}" if document else "# first")
        for number, name in enumerate(draw(st.lists(names, min_size=1, max_size=3, unique=True))):
            key = name.strip("'")
            shape = draw(st.integers(0, 2))
            if shape == 0:
                lines.append(f"{name}: {draw(scalars)}{draw(comments)}")
                places.append((document, (key,)))
            elif shape == 1:
                first, second = draw(scalars), draw(scalars)
                lines += [f"{name}:{draw(comments)}", f"- x: {first}", "", f"  z: {second}{draw(comments)}"]
                places += [(document, (key, 0, each)) for each in ("x", "z")]
            else:
                quoted = draw(st.sampled_from(["'a'", '"b"', "c", "1"]))
                lines.append(f"{name}: {{x: [{quoted}, {number}], z: {quoted}}}{draw(comments)}")
                places += [(document, (key, "x", 0)), (document, (key, "z"))]
    return end.join(lines) + draw(st.sampled_from(["", end])), places


def at(values: list[Json], document: int, path: Path) -> Json:
    value = values[document]
    for step in path:
        value = value[step]
    return value


@settings(deadline=None)
@given(files(), st.data(), st.one_of(words, st.sampled_from(["registry/x:1.2", "1.5", "yes", "a: b", "x #y", "- a"])))
def test_only_the_scalar_changes_and_it_reads_back(
    file: tuple[str, list[tuple[int, Path]]], data: st.DataObject, text: str
) -> None:
    whole, places = file
    before = list(yaml.load_all(whole.encode()))
    document, path = data.draw(st.sampled_from(places))
    span = find_scalar(whole.encode(), path, document=document)
    edited = replace_scalar(whole.encode(), path, text, document=document).decode()
    # Outside of the span every byte is as it was.
    assert edited.startswith(whole[: span.start])
    assert edited.endswith(whole[span.end :])
    assert len(edited) >= len(whole) - (span.end - span.start)
    after = list(yaml.load_all(edited.encode()))
    assert at(after, document, path) == text
    for number, place in places:
        if (number, place) != (document, path):
            assert at(after, number, place) == at(before, number, place)
    # Editing back to the same text changes nothing more.
    assert replace_scalar(edited.encode(), path, text, document=document).decode() == edited
