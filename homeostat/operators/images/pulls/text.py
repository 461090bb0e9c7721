"""The title and the body of a pull request, and the marks by which the operator knows what it proposed. Pure.

A mark is a line that forges do not show: hashes of a Deployment's name and of its tag. So a body of a thousand changes
stays small, and what a closed request proposed is known without any memory. A request that the operator closes itself
loses its marks: only those that a person closed say what is not wanted.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from homeostat.operators.images.engine.message import SUBJECT

MOST_CHANGES: Final = 1000
"""In one request; the others wait for the next."""
_MOST_LISTED: Final = 200
_MOST_NAMED: Final = 10
_LONGEST_TITLE: Final = 200
_HOW: Final = (
    "This request is kept up to date until somebody else pushes to its branch. Close it to refuse these tags; newer "
    "ones are proposed again."
)
_TRAILER: Final = "Homeostat-Branch"
_mark = re.compile(r"<!-- homeostat-images:((?: [0-9a-f]{8}=[0-9a-f]{12})*) -->", re.ASCII).search
_LARGEST_BODY: Final = 1 << 20

Marks = Mapping[str, str]
"""The hash of a tag by the hash of a Deployment's name."""


class Line(msgspec.Struct, frozen=True):
    key: str
    image: str
    old: str
    new: str
    path: str


def key_mark(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:8]


def tag_mark(key: str, tag: str) -> str:
    return hashlib.sha256(f"{key}\0{tag}".encode()).hexdigest()[:12]


def marks_of(body: str) -> Marks:
    found = _mark(body[:_LARGEST_BODY])
    return dict(each.split("=", 1) for each in found[1].split()) if found else {}


def is_marked(marks: Marks, key: str, tag: str) -> bool:
    return marks.get(key_mark(key)) == tag_mark(key, tag)


def marks(tags: Mapping[str, str]) -> Marks:
    """From the tags by `NAMESPACE/NAME`."""
    return {key_mark(key): tag_mark(key, tag) for key, tag in tags.items()}


def title_of(lines: list[Line], base: str) -> str:
    keys = list(dict.fromkeys(each.key for each in lines))
    if len(keys) == 1:
        return f"Update {_plain(lines[0].image)} to {_plain(lines[0].new)} ({keys[0]})"[:_LONGEST_TITLE]
    return f"Update image tags of {len(keys)} workloads on {base}"[:_LONGEST_TITLE]


def body_of(lines: list[Line], wanted: Marks) -> str:
    shown = [
        f"- `{_plain(each.key)}`: `{_plain(each.image)}` `{_plain(each.old) or '(no tag)'}` -> `{_plain(each.new)}`"
        f" in `{_plain(each.path)}`"
        for each in lines[:_MOST_LISTED]
    ]
    if len(lines) > _MOST_LISTED:
        shown.append(f"- and {len(lines) - _MOST_LISTED} more")
    return "\n".join([*shown, "", _HOW, "", _marked(wanted)])


def closing_of(keys: list[str]) -> str:
    """Why the operator closes a request, of which these Deployments need nothing any more."""
    named = ", ".join(_plain(each) for each in keys[:_MOST_NAMED])
    more = f" and {len(keys) - _MOST_NAMED} more" if len(keys) > _MOST_NAMED else ""
    because = (
        f" ({named}{more}: already at another tag, pinned, disabled, deleted, or without these annotations)"
        if keys
        else ""
    )
    return f"Closed by the operator: none of these changes is needed any more{because}."


def closed_body(body: str, why: str) -> str:
    """Without marks: the operator itself closed it."""
    kept = _mark(body[:_LARGEST_BODY])
    text = body.replace(kept[0], "") if kept else body
    return f"{text.rstrip()}\n\n{why}\n"


def branch_message(message: str, branch: str) -> str:
    """The message of a commit that the operator may replace."""
    return f"{message.rstrip()}\n\n{_TRAILER}: {branch}\n"


def is_replaceable(message: str, branch: str) -> bool:
    return message.startswith(SUBJECT) and message.rstrip().endswith(f"\n{_TRAILER}: {branch}")


def _marked(wanted: Marks) -> str:
    return f"<!-- homeostat-images:{''.join(f' {key}={tag}' for key, tag in sorted(wanted.items()))} -->"


def _plain(text: str) -> str:
    return re.sub(r"[`\x00-\x1f]", "", text)


def marked_keys(found: Marks, keys: Iterable[str]) -> bool:
    """Whether one of the Deployments is marked."""
    return any(key_mark(each) in found for each in keys)
