"""YAML of payloads and metadata: the core schema of YAML 1.2, so `on`, `yes`, dates and `0755` stay texts. Pure.

Written with sorted or given keys and four spaces. Words that older readers take for booleans are quoted. Duplicate
keys, several documents and expansions beyond the limits are errors. Files come from anybody's repository: libyaml
builds its result recursively, and a deep text would end the process, so the depth is checked before.
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml
from yaml import CSafeDumper, CSafeLoader, MappingStartEvent, SequenceStartEvent
from yaml.events import CollectionEndEvent

from homeostat.objects.json import Json
from homeostat.objects.yaml.parser import open_parser
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.payload.value import MAX_DEPTH, check

_PLAIN: Final = ("null", "bool", "int", "float", "str", "seq", "map")
_SAFE_DEPTH: Final = 1000
_LONGEST_NUMBER: Final = 400
_MOST_TEXT: Final = 64 << 20
"""Characters of all texts, with each alias: a file may refer to a long text very often."""
_MOST_VALUES: Final = 1_000_000
"""Items of all maps and lists, with each alias, however short the file is."""
_OLD_BOOLEANS: Final = re.compile(r"(?:y|n|yes|no|on|off)", re.IGNORECASE)


class _Loader(CSafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012
    yaml_constructors = {  # noqa: RUF012
        tag: each
        for tag, each in CSafeLoader.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in _PLAIN
    }

    def flatten_mapping(self, node: Any) -> None:
        """YAML 1.2 has no merge keys, and those of 1.1 expand without limit."""

    def construct_scalar(self, node: Any) -> Any:
        is_number = node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
        if is_number and len(node.value) > _LONGEST_NUMBER:
            raise yaml.constructor.ConstructorError(None, None, "a number is too long", node.start_mark)
        return super().construct_scalar(node)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen = set[Any]()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            if name is None:
                raise yaml.constructor.ConstructorError(None, None, "a key is not a scalar", key.start_mark)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f'duplicate key "{name}"', key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep=deep)


class _Dumper(CSafeDumper):
    yaml_implicit_resolvers = dict(CSafeDumper.yaml_implicit_resolvers)  # noqa: RUF012

    def ignore_aliases(self, data: Any) -> bool:
        return True


_NUMBER: Final = re.compile(
    r"^[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]{1,4})?$"
    r"|^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$"
)
_RESOLVED: Final = (
    ("null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    ("int", re.compile(r"^[-+]?(?:0|[1-9][0-9]{0,24})$"), list("-+0123456789")),
    ("float", _NUMBER, list("-+.0123456789")),
)
for _tag, _pattern, _first in _RESOLVED:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _pattern, _first)
# The writer quotes what either dialect would take for something else than a text.
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+.0123456789"))


def _represent_text(dumper: Any, text: str) -> Any:
    style = "|" if "\n" in text and not text.startswith((" ", "\n")) else None
    if _OLD_BOOLEANS.fullmatch(text):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def load(data: bytes) -> Json:
    """The one document of a file; None if the file is empty."""
    try:
        _check_depth(data)
        value = yaml.load(data, _Loader)  # noqa: S506 - a safe loader
    except UnicodeDecodeError as error:
        raise ValidationError("invalid YAML: the text is not UTF-8") from error
    except RecursionError as error:
        raise ValidationError("invalid YAML: it is nested too deeply") from error
    except (yaml.YAMLError, ValueError, LookupError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        problem = getattr(error, "problem", None) or "malformed"
        raise ValidationError(f"invalid YAML{where}: {problem}") from error
    # Without aliases, there are no more values than bytes.
    return check(value, most_text=_MOST_TEXT, most_values=max(len(data), _MOST_VALUES))


def _check_depth(data: bytes) -> None:
    longest = max(map(len, data.splitlines()), default=0)
    # A block is indented further than the one around it, but for a sequence below a key.
    if b"%" not in data and data.count(b"[") + data.count(b"{") + 2 * longest < _SAFE_DEPTH:
        return
    depth = 0
    with open_parser(data) as parser:
        while (event := parser.get_event()) is not None:
            if isinstance(event, MappingStartEvent | SequenceStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    raise ValidationError(f"invalid YAML: nested more than {MAX_DEPTH} levels deep")
            elif isinstance(event, CollectionEndEvent):
                depth -= 1


def dump(value: Json, *, is_sorted: bool = True) -> bytes:
    options: Any = {"indent": 4, "width": 1 << 16, "allow_unicode": True}
    text: str = yaml.dump(value, Dumper=_Dumper, default_flow_style=False, sort_keys=is_sorted, **options)
    # A scalar alone is followed by a document end.
    return text.removesuffix("...\n").encode()
