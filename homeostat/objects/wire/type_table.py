"""The table of Kubernetes' built-in types: what fields each has, in JSON, in protobuf and in patches.

The table is text under `data/`, one file a Go package, made by `tools/derive_kinds.py`. Files are
read and types are parsed on first use, so that a plane without Pods does not pay for them.

    apps v1                                              the package's API group and version
    DeploymentSpec                                       a type; `kind` marks those that are API objects
     replicas 1 int32 p                                  JSON name, protobuf number, type, flags
     template 3 core.v1.PodTemplateSpec ar               a type of another package
     conditions 6 []DeploymentCondition o list=map keys=type patch=merge merge=type

`[]` is a list, `{}` a map with string keys. Flags: `p` a pointer (zero is a value), `o` JSON leaves it out when zero,
`a` JSON always has it; `r` required. The name `-` is a struct whose fields stand in its parent.
"""

from __future__ import annotations

import pkgutil
from typing import NamedTuple

META_PACKAGE = "meta.v1"


class Field(NamedTuple):
    name: str
    """Empty for a struct whose fields stand in its parent."""
    number: int
    shape: str
    """`[]`, `{}` or empty."""
    type: str
    """A leaf such as `string` or `quantity`, or the name of a type, `core.v1.Pod`."""
    presence: str
    is_required: bool
    facts: tuple[tuple[str, str], ...]

    @property
    def is_leaf(self) -> bool:
        return "." not in self.type


class BuiltinType(NamedTuple):
    name: str
    is_kind: bool
    facts: tuple[tuple[str, str], ...]
    fields: tuple[Field, ...]


class _Package(NamedTuple):
    group: str
    version: str
    blocks: dict[str, str]


_packages: dict[str, _Package | None] = {}


def _package(name: str) -> _Package | None:
    if name not in _packages:
        _packages[name] = _read_package(name)
    return _packages[name]


def _read_package(name: str) -> _Package | None:
    try:
        data = pkgutil.get_data(__package__, f"data/{name}.types")
    except (OSError, ValueError):
        return None
    assert data is not None
    head, _, rest = data.decode().partition("\n")
    group, version = head.split()
    blocks: dict[str, str] = {}
    for block in rest.rstrip("\n").replace("\n ", "\0").split("\n"):
        blocks[block.partition("\0")[0].partition(" ")[0]] = block
    return _Package("" if group == "-" else group, version, blocks)


def type_named(name: str) -> BuiltinType:
    """The type of a name such as `core.v1.Pod`; `KeyError` if there is none."""
    package_name, _, short = name.rpartition(".")
    package = _package(package_name)
    if package is None:
        raise KeyError(name)
    head, *lines = package.blocks[short].split("\0")
    _, *words = head.split(" ")
    return BuiltinType(name, "kind" in words, _facts(words), tuple(_field(line, package_name) for line in lines))


def kind_named(group: str, version: str, kind: str) -> str | None:
    """The name of the type of a kind; None for what is not a built-in kind.

    Options, `Status` and the like belong to every group and version.
    """
    package_name = f"{group.partition('.')[0] or 'core'}.{version}"
    if package_name.isascii() and package_name.replace(".", "").isalnum():
        package = _package(package_name)
        if package is not None and package.group == group and _is_kind(package, kind):
            return f"{package_name}.{kind}"
    shared = _package(META_PACKAGE)
    assert shared is not None
    return f"{META_PACKAGE}.{kind}" if _is_kind(shared, kind) else None


def group_version(name: str) -> tuple[str, str]:
    """The API group and version of a type."""
    package = _package(name.rpartition(".")[0])
    if package is None:
        raise KeyError(name)
    return package.group, package.version


def openapi_name(name: str) -> str:
    """The name of a type as OpenAPI has it."""
    match name.partition(".")[0]:
        case "meta":
            return f"io.k8s.apimachinery.pkg.apis.{name}"
        case "apiextensions":
            return f"io.k8s.apiextensions-apiserver.pkg.apis.{name}"
        case "apiregistration":
            return f"io.k8s.kube-aggregator.pkg.apis.{name}"
        case _:
            return f"io.k8s.api.{name}"


def flat_fields(builtin: BuiltinType) -> list[Field]:
    """The fields as JSON has them: those of inlined structs stand among the others."""
    found: list[Field] = []
    for field in builtin.fields:
        if field.name:
            found.append(field)
        else:
            found += flat_fields(type_named(field.type))
    return found


def _is_kind(package: _Package, kind: str) -> bool:
    return package.blocks.get(kind, "").startswith(f"{kind} kind")


def _field(line: str, package_name: str) -> Field:
    name, number, type_word, flags, *facts = line.split(" ")
    shape = type_word[:2] if type_word[0] in "[{" else ""
    type_name = type_word[len(shape) :]
    if "." not in type_name and type_name[0].isupper():
        type_name = f"{package_name}.{type_name}"
    return Field("" if name == "-" else name, int(number), shape, type_name, flags[0], "r" in flags, _facts(facts))


def _facts(words: list[str]) -> tuple[tuple[str, str], ...]:
    return tuple((word.partition("=")[0], word.partition("=")[2]) for word in words if "=" in word)
