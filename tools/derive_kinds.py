"""Derive the table of built-in types, `homeostat/objects/wire/data/`, from published facts of the Kubernetes API.

    python -m tools.derive_kinds FACTS GO_MODULES

FACTS holds `openapi/` (OpenAPI v3 documents) and `golden/` (which the tests of the decoder read). GO_MODULES holds the
unpacked Go modules `k8s.io/api@V`, `k8s.io/apimachinery@V`, `k8s.io/apiextensions-apiserver@V` and
`k8s.io/kube-aggregator@V` of the same release, which is that of FACTS; other releases of some of them may be beside
them. The protobuf messages of a package are in the `generated.proto` beside its Go structs.

The table is one text file a package, in a form of its own and without descriptions; `objects/wire/type_table.py`
describes it. OpenAPI gives merge keys, list types, defaults and required fields; where it has no document for a group,
Go's comment markers, from which Kubernetes makes that document, give the same.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tools.go_structs import GoField, GoStruct, structs_in
from tools.proto_messages import Messages, messages_in

MODULES = ("api", "apimachinery", "apiextensions-apiserver", "kube-aggregator")
TARGET = Path(__file__).parent.parent / "homeostat" / "objects" / "wire" / "data"

API_GROUPS = {
    "admission.v1": "admission.k8s.io",
    "admissionregistration.v1": "admissionregistration.k8s.io",
    "admissionregistration.v1beta1": "admissionregistration.k8s.io",
    "apidiscovery.v2": "apidiscovery.k8s.io",
    "apps.v1": "apps",
    "authentication.v1": "authentication.k8s.io",
    "authorization.v1": "authorization.k8s.io",
    "autoscaling.v1": "autoscaling",
    "autoscaling.v2": "autoscaling",
    "batch.v1": "batch",
    "certificates.v1": "certificates.k8s.io",
    "coordination.v1": "coordination.k8s.io",
    "core.v1": "",
    "discovery.v1": "discovery.k8s.io",
    "events.v1": "events.k8s.io",
    "flowcontrol.v1": "flowcontrol.apiserver.k8s.io",
    "networking.v1": "networking.k8s.io",
    "node.v1": "node.k8s.io",
    "policy.v1": "policy",
    "rbac.v1": "rbac.authorization.k8s.io",
    "resource.v1": "resource.k8s.io",
    "scheduling.v1": "scheduling.k8s.io",
    "storage.v1": "storage.k8s.io",
}
META = "k8s.io.apimachinery.pkg.apis.meta.v1"
EXTENSIONS = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1"
AGGREGATOR = "k8s.io.kube_aggregator.pkg.apis.apiregistration.v1"
PROTO_PACKAGES = {
    **{package: f"k8s.io.api.{package}" for package in API_GROUPS},
    "meta.v1": META,
    "apiextensions.v1": EXTENSIONS,
    "apiregistration.v1": AGGREGATOR,
}
GROUPS = {
    **API_GROUPS,
    "meta.v1": "",
    "apiextensions.v1": "apiextensions.k8s.io",
    "apiregistration.v1": "apiregistration.k8s.io",
}
ROOTS = {
    "admissionregistration.v1beta1": tuple(
        f"MutatingAdmissionPolicy{each}" for each in ("", "Binding", "BindingList", "List")
    )
}
"""The kinds that are served of a package of which not all are: the table has these and what they are made of."""

LEAVES = {
    f"{META}.Time": "time",
    f"{META}.MicroTime": "microtime",
    f"{META}.FieldsV1": "fields",
    f"{META}.Verbs": "strings",
    "k8s.io.apimachinery.pkg.api.resource.Quantity": "quantity",
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": "intorstring",
    "k8s.io.apimachinery.pkg.runtime.RawExtension": "raw",
    f"{EXTENSIONS}.JSON": "json",
    f"{EXTENSIONS}.JSONSchemaPropsOrArray": "schemaorarray",
    f"{EXTENSIONS}.JSONSchemaPropsOrBool": "schemaorbool",
    f"{EXTENSIONS}.JSONSchemaPropsOrStringArray": "schemaorstrings",
    **{f"k8s.io.api.{group}.v1.ExtraValue": "strings" for group in ("authentication", "authorization", "certificates")},
}
"""Messages that JSON shows as something other than an object of their fields."""
PLUMBING = {"Timestamp", "Duration", "Patch", "TypeMeta", "RootPaths", "GroupKind", "GroupResource", "GroupVersion"}
SCALARS = {"string", "bool", "int32", "int64", "double", "bytes"}
ZEROS = ("", 0)
"""What a field that JSON always has begins with; OpenAPI says so without anybody having declared it."""


class Facts:
    def __init__(self, facts: Path, go_modules: Path) -> None:
        self._go_modules, self._release = go_modules, release_in(go_modules)
        self.messages: Messages = {}
        for package in PROTO_PACKAGES:
            self.messages.update(messages_in((self._directory(package) / "generated.proto").read_text()))
        self.schemas: dict[str, dict[str, Any]] = {}
        for path in sorted((facts / "openapi").glob("*.json")):
            self.schemas.update(json.loads(path.read_text())["components"]["schemas"])

    def go_package(self, package: str) -> dict[str, GoStruct]:
        return structs_in(self._directory(package))

    def _directory(self, package: str) -> Path:
        match package:
            case "meta.v1":
                module, path = "apimachinery", "pkg/apis/meta/v1"
            case "apiextensions.v1":
                module, path = "apiextensions-apiserver", "pkg/apis/apiextensions/v1"
            case "apiregistration.v1":
                module, path = "kube-aggregator", "pkg/apis/apiregistration/v1"
            case _:
                module, path = "api", package.replace(".", "/")
        return self._go_modules / f"{module}@{self._release}" / path


def release_in(go_modules: Path) -> str:
    """The one release of which all modules are there."""
    found = [{each.name.partition("@")[2] for each in go_modules.glob(f"{module}@*")} for module in MODULES]
    releases = set.intersection(*found)
    if len(releases) != 1:
        raise SystemExit(
            f"{go_modules}: expected one release of {', '.join(MODULES)}, found {', '.join(sorted(releases)) or 'none'}"
        )
    return releases.pop()


def package_lines(facts: Facts, package: str) -> Iterator[str]:
    prefix = PROTO_PACKAGES[package]
    go_structs = facts.go_package(package)
    served = reachable(facts.messages, [f"{prefix}.{each}" for each in ROOTS.get(package, ())])
    yield f"{GROUPS[package] or '-'} {package.partition('.')[2]}"
    for message in sorted(facts.messages):
        parent, _, name = message.rpartition(".")
        if parent != prefix or message in LEAVES or (package == "meta.v1" and name in PLUMBING):
            continue
        if served and message not in served:
            continue
        if name not in go_structs and f"{META}.{name}" in facts.messages:
            continue  # an alias of the type in meta.v1
        if name not in go_structs:
            raise SystemExit(f"{message}: no Go struct of this name; are the modules of the same release?")
        yield from type_lines(facts, message, go_structs[name])


def reachable(messages: Messages, roots: Iterable[str]) -> set[str]:
    """The messages of these names, and those that their fields have."""
    found, ahead = set[str](), list(roots)
    while ahead:
        message = ahead.pop()
        if message not in found and message in messages:
            found.add(message)
            types = [wire["type"] for wire in messages[message].values()]
            ahead += [each.removeprefix("map<string,").removesuffix(">") for each in types]
    return found


def type_lines(facts: Facts, message: str, struct: GoStruct) -> Iterator[str]:
    prefix, _, name = message.rpartition(".")
    schema = facts.schemas.get(openapi_name(message))
    words = [name]
    if struct.is_object:
        words.append("kind")
    map_type = schema.get("x-kubernetes-map-type") if schema else first(struct.markers, "structType")
    if map_type:
        words.append(f"map={map_type}")
    yield " ".join(words)
    by_number = {each.number: each for each in struct.fields if each.number}
    for number, wire in sorted(facts.messages[message].items(), key=lambda item: int(item[0])):
        if (member := by_number.get(int(number))) is None:
            raise SystemExit(f"{message}: no Go field has the number {number}; are the modules of the same release?")
        words = [member.json_name or "-", number, type_word(wire, prefix), flags(member, schema)]
        words += facts_of_schema(member, schema) if schema else facts_of_markers(member)
        yield " " + " ".join(words)


def openapi_name(message: str) -> str:
    return "io." + message.replace("k8s.io.", "k8s.", 1).replace("_", "-")


def type_word(wire: dict[str, Any], package_prefix: str) -> str:
    name: str = wire["type"]
    shape = "[]" if wire.get("repeated") else ""
    if name.startswith("map<"):
        name, shape = name.removeprefix("map<string,").removesuffix(">"), "{}"
    if name in SCALARS:
        return shape + name
    if name in LEAVES:
        return shape + LEAVES[name]
    prefix, _, short = name.rpartition(".")
    if prefix == package_prefix:
        return shape + short
    package = next(each for each, known in PROTO_PACKAGES.items() if known == prefix)
    return f"{shape}{package}.{short}"


def flags(member: GoField, schema: dict[str, Any] | None) -> str:
    """`p` a pointer: zero is a value; `o` a value that JSON omits when zero; `a` a value that JSON always has."""
    presence = "p" if member.is_pointer else "o" if member.omits_empty else "a"
    if schema is not None:
        is_required = member.json_name in schema.get("required", ())
    else:
        is_implied = bool(member.json_name) and not member.omits_empty and "optional" not in member.markers
        is_required = is_implied or "required" in member.markers
    return presence + ("r" if is_required else "")


def facts_of_schema(member: GoField, schema: dict[str, Any]) -> Iterator[str]:
    known = schema.get("properties", {}).get(member.json_name, {})
    default = known.get("default")
    is_implied = default == {} or (not member.is_pointer and not member.omits_empty and default in ZEROS)
    if default is not None and not is_implied:
        yield f"default={json.dumps(default)}"
    if list_type := known.get("x-kubernetes-list-type"):
        yield f"list={list_type}"
    if keys := known.get("x-kubernetes-list-map-keys"):
        yield f"keys={','.join(keys)}"
    if map_type := known.get("x-kubernetes-map-type"):
        yield f"map={map_type}"
    if strategy := known.get("x-kubernetes-patch-strategy"):
        yield f"patch={strategy}"
    if merge_key := known.get("x-kubernetes-patch-merge-key"):
        yield f"merge={merge_key}"


def facts_of_markers(member: GoField) -> Iterator[str]:
    default = first(member.markers, "default")
    if default:
        yield f"default={default}"
    if list_type := first(member.markers, "listType"):
        yield f"list={list_type}"
    if keys := member.markers.get("listMapKey"):
        yield f"keys={','.join(keys)}"
    if map_type := first(member.markers, "mapType") or first(member.markers, "structType"):
        yield f"map={map_type}"
    if strategy := member.tags.get("patchStrategy"):
        yield f"patch={strategy}"
    if merge_key := member.tags.get("patchMergeKey"):
        yield f"merge={merge_key}"


def first(markers: dict[str, list[str]], name: str) -> str:
    return markers.get(name, [""])[0]


def main(arguments: list[str]) -> None:
    if len(arguments) != 2:
        raise SystemExit("usage: python -m tools.derive_kinds FACTS GO_MODULES")
    facts = Facts(Path(arguments[0]), Path(arguments[1]))
    TARGET.mkdir(exist_ok=True)
    derived = {package: list(package_lines(facts, package)) for package in sorted(PROTO_PACKAGES)}
    for package, lines in derived.items():
        (TARGET / f"{package}.types").write_text("\n".join(lines) + "\n")
        print(f"{package}: {sum(not line.startswith(' ') for line in lines) - 1} types")


if __name__ == "__main__":
    main(sys.argv[1:])
