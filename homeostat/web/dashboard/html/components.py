"""The components of pages: phases, times, durations, values, texts, bars. Pure.

Colour is never the only sign of a state. Times are absolute in the HTML; the script makes them relative (`4 minutes
ago`). No element has an inline style, which the pages' Content-Security-Policy would refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from homeostat.objects import yaml
from homeostat.objects.json import Json
from homeostat.objects.time.timestamp import TimestampError, parse_time
from homeostat.web.dashboard.html.markup import Markup, Node, el, text_of
from homeostat.web.dashboard.html.redaction import plain_text

_words = re.compile(r"[A-Z]?[^A-Z]+|[A-Z]+(?![^A-Z])|[A-Z]").findall
_LONGEST_LINE = 240
_LONGEST_READ = 4096
_FEWEST_LINES, _HEAD = 2, 70
_UNFOLDED, _UNFOLDED_LINES = 600, 4


def chip(word: str, look: str = "", title: str = "") -> Markup:
    """A word with a sign before it; `look` is the class that selects sign and colour."""
    return el("span", word, class_=f"chip {look or 'plain'}", title=title or None)


def phase_chip(phase: str) -> Markup:
    return chip(phase, f"phase-{phase}")


def moment(text: str | None, otherwise: str = "–") -> Markup:
    if not text:
        return el("span", otherwise, class_="quiet")
    try:
        shown = parse_time(text).strftime("%Y-%m-%d %H:%M:%S UTC")
    except TimestampError:
        return text_of(text)
    return el("time", shown, datetime=text)


def seconds(count: float) -> str:
    """`80 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`."""
    if count < 0.001:
        return "under 1 ms"
    if count < 0.9995:
        return f"{count * 1000:.0f} ms"
    if count < 59.95:
        return f"{count:.1f} s"
    minutes, rest = divmod(round(count), 60)
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left} min" if hours else f"{minutes} min {rest} s"


def many(count: int, noun: str, plural: str = "") -> str:
    """`1 resource`, `10,000 resources`."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def one_line(text: str) -> str:
    """Of a long text the beginning; of long output of a program also its end, which says why it failed."""
    beginning = _beginning(text)
    printed = plain_text(beginning)
    line = " ".join(printed.split())
    if len(beginning) < len(text):
        return f"{line[: _LONGEST_LINE - 1]}…"
    if len(line) <= _LONGEST_LINE:
        return line
    if printed.strip().count("\n") < _FEWEST_LINES:
        return f"{line[: _LONGEST_LINE - 1]}…"
    return f"{line[:_HEAD]}… {line[_HEAD + 2 - _LONGEST_LINE :]}"


def last_line(text: str) -> str:
    """The last line that says something: that of a program's output says why it failed."""
    # Whole lines alone: a line that is cut may lose what its credentials are known by.
    end = text if len(text) <= _LONGEST_READ else text[-_LONGEST_READ:].partition("\n")[2]
    lines = [each for each in end.splitlines() if any(map(str.isalnum, each))]
    return one_line(lines[-1] if lines else text)


def whole_text(text: str) -> str:
    """All of it, unless it is longer than anybody reads: then as one line."""
    return plain_text(text).strip() if len(text) <= _LONGEST_READ else one_line(text)


def message_text(text: str, class_: str = "why") -> Node:
    """All of a text. What a program printed, or a long text, is folded below its beginning and its end."""
    whole = whole_text(text)
    if len(whole) <= _UNFOLDED and whole.count("\n") < _UNFOLDED_LINES:
        return el("span", whole, class_=class_)
    return el(
        "details",
        el("summary", one_line(text)),
        el("pre", plain_text(text), class_="printed", tabindex=0),
        class_=f"{class_} folded",
    )


def path_text(text: str) -> Markup:
    """A URL or a path, which is broken after slashes first."""
    parts = text.split("/")
    return el(
        "code", [[el("wbr") if at else None, f"{each}/"] for at, each in enumerate(parts[:-1])], el("wbr"), parts[-1]
    )


def _beginning(text: str) -> str:
    """As much of it as a line needs: a page has hundreds of lines. A URL that is cut ends before its credentials, which
    are known by what follows them.
    """
    if len(text) <= _LONGEST_READ:
        return text
    beginning = text[:_LONGEST_READ]
    last = (beginning.split() or [""])[-1]
    scheme, is_url, _ = last.partition("://")
    return beginning[: beginning.rindex(last)] + scheme if is_url else beginning


def reason_text(text: str) -> Markup:
    """`MinimumReplicasUnavailable`, which may be broken between its words."""
    return text_of([[el("wbr") if at else None, each] for at, each in enumerate(_words(text))])


def value_block(value: Json) -> Markup:
    return el("pre", yaml.dump(value).decode().rstrip("\n"), class_="value", tabindex=0)


def text_block(text: str) -> Markup:
    return el("pre", plain_text(text), class_="printed", tabindex=0)


def heading(text: str, more: Node = None) -> Markup:
    """Of a part of a page; `more` is a link beside it."""
    return el("div", el("h2", text), more, class_="heading")


def facts(*pairs: tuple[str, Node], wide: Sequence[tuple[str, Node]] = ()) -> Markup:
    """A description list of the pairs that have a value; `wide` ones take a row each."""
    rows = [el("div", el("dt", name), el("dd", value)) for name, value in pairs if value not in ("", None)]
    rows += [
        el("div", el("dt", name), el("dd", value), class_="wide") for name, value in wide if value not in ("", None)
    ]
    return el("dl", rows, class_="facts")


_NOTHING = ("–", moment(None))


class Row(NamedTuple):
    """Of a table. The first cell is the heading of the row."""

    key: str
    cells: tuple[Node, ...]


def row(key: str, *cells: Node) -> Row:
    return Row(key, cells)


def table(caption: str, headings: Sequence[str], rows: Iterable[Row], *, class_: str = "") -> Markup:
    """`caption` is for screen readers. On narrow screens a row is a card, whose cells have the headings as labels."""
    head = el("thead", el("tr", [el("th", each, scope="col") for each in headings]))
    body = el("tbody", [_drawn(each, headings[1:]) for each in rows])
    whole = el("table", el("caption", caption, class_="unseen"), head, body, class_=class_ or None)
    return el("div", whole, class_="scroll", role="region", aria_label=caption, tabindex=0)


def _drawn(each: Row, labels: Sequence[str]) -> Markup:
    first, *others = each.cells
    cells = [
        el("td", cell, class_="none" if cell in _NOTHING else None, data_label=label)
        for cell, label in zip(others, labels, strict=True)
    ]
    return el("tr", el("th", first, scope="row"), cells, id=f"row-{each.key}")


def shares(counts: Mapping[str, int], order: Sequence[str], prefix: str, words: Mapping[str, str] = {}) -> Markup:
    """A bar that shows the parts of a whole; `words` name those that have another name for people."""
    total = sum(counts.values())
    label = ", ".join(f"{counts[each]:,} {words.get(each, each)}" for each in order if counts.get(each))
    parts: list[Markup] = []
    at = 0.0
    for each in order:
        if count := counts.get(each):
            width = 100 * count / total
            parts.append(el("rect", x=f"{at:.2f}%", width=f"{width:.2f}%", height="100%", class_=f"{prefix}-{each}"))
            at += width
    return el("svg", el("title", label or "none"), parts, class_="shares", role="img", aria_label=label or "none")
